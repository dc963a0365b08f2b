#!/bin/bash
# The bash kernel: runs cells one after another in this shell, so that what they
# leave stays. Commands come on descriptor 0, events go to 3:
#
#     run ID CODE_BYTES INPUT_BYTES [last]
#
# and right behind it the code and, in base64, the cell's standard input.
#
# The last cell's shell is a program's: its own traps and options are in force at
# its end, and no other shell takes over.
#
# A shell that is told to exit can't go on. Its EXIT trap executes a fresh one in
# the same process, which takes over variables, functions, traps and options.
#
# A cell's options and IFS must not change what is done here.

# Ends the cell that has just run and takes the next one, into __sg_code. False
# for the last one.
__sg_next() {
  builtin local IFS=$' \t\n' LC_ALL=C
  # Between cells it is nobody's.
  builtin trap '' INT
  if [[ -n $__sg_leaving ]]; then
    __sg_end=$__sg_leaving
    __sg_leaving=
  fi
  if [[ -n $__sg_id ]]; then __sg_tell "$__sg_end"; fi
  __sg_repair
  builtin local word code_bytes input_bytes input=
  if ! builtin read -r -u "$__sg_in" \
    word __sg_id code_bytes input_bytes __sg_last; then
    __sg_id=
    builtin exit 0
  fi
  __sg_early='' __sg_code=''
  builtin trap '__sg_early=1' INT
  if ((code_bytes > 0)); then
    builtin read -r -u "$__sg_in" -N "$code_bytes" __sg_code
  fi
  if ((input_bytes > 0)); then
    builtin read -r -u "$__sg_in" -N "$input_bytes" input
    # By a process that nobody waits for: a cell need not read all of it.
    exec 0< <( (builtin printf %s "$input" | /usr/bin/base64 -d) & )
  else
    exec 0</dev/null
  fi
  ((++__sg_count))
  __sg_restore=
  if [[ $__sg_flags == *[efnuvxC]* ]]; then
    __sg_restore="builtin set -${__sg_flags//[!efnuvxC]/}"$'\n'
  fi
  if [[ -n $__sg_last ]]; then
    builtin unset -f trap
    builtin trap - EXIT INT
    if [[ -n $__sg_early ]]; then builtin kill -INT "$$"; fi
    builtin return 1
  fi
  builtin trap '{ __sg_leave "$?" "$@"; } 2>/dev/null' EXIT
  builtin trap '{ __sg_interrupt; } 2>/dev/null' INT
  if [[ -n $__sg_early ]]; then builtin kill -INT "$$"; fi
}

__sg_tell() {
  builtin local status=ok
  if (($1 != 0)); then status=error; fi
  builtin printf \
    '{"ev":"done","id":%d,"status":"%s","exit_code":%d,"count":%d}\n' \
    "$__sg_id" "$status" "$1" "$__sg_count" >&"$__sg_events"
  __sg_id=
}

# Output goes where it is read, whatever a cell has done to it.
__sg_repair() {
  exec 1>&"$__sg_out" 2>&"$__sg_err"
}

__sg_interrupt() {
  if [[ -n $__sg_id ]]; then builtin exit 130; fi
}

# The shell exits: by the cell's word, by an error under set -e, by an interrupt.
# Exit code and positional parameters are handed over.
__sg_leave() {
  __sg_options=$(builtin set +o)
  builtin set +efnuvxC
  __sg_leaving=$1
  builtin shift
  if [[ $BASHPID != "$__sg_pid" ]]; then builtin exit "$__sg_leaving"; fi
  if [[ -n $__sg_on_exit ]]; then
    builtin local on_exit="$__sg_on_exit"
    __sg_on_exit=
    __sg_was "$__sg_leaving"
    builtin eval "$on_exit" 2>&"$__sg_err"
  fi
  if [[ -z $__sg_id ]]; then builtin exit "$__sg_leaving"; fi
  builtin trap - EXIT INT
  __sg_traps=$(builtin trap -p)
  __sg_shell_options=$(builtin shopt -p)
  builtin local fd
  exec {fd}< <(__sg_dump "$@")
  BASH_ENV='' exec /bin/bash -c "$__sg_loop" bash "$__sg_file" "$fd"
}

# What $? is next.
__sg_was() { builtin return "$1"; }

# The shell in words of bash. Some of its variables can't be set; that is refused
# when they are read.
__sg_dump() {
  builtin printf 'builtin shopt -s extglob\n'
  builtin alias -p
  builtin declare -f
  builtin declare -p
  builtin printf 'builtin set --'
  builtin printf ' %q' "$@"
  builtin printf '\n'
}

# A cell's own EXIT trap is called when the shell would exit.
trap() {
  if [[ $BASHPID == "$__sg_pid" && $# -ge 2 && $1 != -[lp]* ]]; then
    local -a words=("$@") rest=()
    builtin local word on_exit=
    if [[ $1 == -- ]]; then words=("${words[@]:1}"); fi
    for word in "${words[@]:1}"; do
      case $word in
        EXIT | exit | 0) on_exit=1 ;;
        *) rest+=("$word") ;;
      esac
    done
    if [[ -n $on_exit ]]; then
      __sg_on_exit=${words[0]}
      if [[ $__sg_on_exit == - ]]; then __sg_on_exit=; fi
      if ((${#rest[@]} == 0)); then builtin return 0; fi
      builtin set -- "${words[0]}" "${rest[@]}"
    fi
  fi
  # shellcheck disable=SC2064 # as it was given
  builtin trap "$@"
}
builtin declare -ft trap

__sg_start() {
  __sg_pid=$$ __sg_id='' __sg_count=0 __sg_leaving='' __sg_on_exit=''
  __sg_flags='' __sg_last=''
  # Out of the way of a cell's files.
  builtin local most
  most=$(builtin ulimit -n)
  if [[ $most == unlimited ]] || ((most > 254)); then most=254; fi
  __sg_in=$((most - 4)) __sg_events=$((most - 3))
  __sg_out=$((most - 2)) __sg_err=$((most - 1))
  builtin eval "exec $__sg_in<&0 $__sg_events>&3 $__sg_out>&1 $__sg_err>&2 3>&-"
  builtin printf '{"ev":"ready","pid":%d}\n' "$$" >&"$__sg_events"
}

# What the shell itself executes. In a file its errors would have that file's
# name, in more than one line other numbers. When a break leaves it, a fresh shell
# goes on.
if [[ $0 == "${BASH_SOURCE[0]}" ]]; then
  # Standard error is put aside, because set -x writes there.
  # shellcheck disable=SC2016
  loop='source "$1"; '
  # shellcheck disable=SC2016
  loop+='while { __sg_end=$? __sg_flags=$-; builtin set +efnuvxC; } 2>/dev/null'
  # shellcheck disable=SC2016
  loop+=' && __sg_next; do __sg_was "$__sg_end"'
  # shellcheck disable=SC2016
  loop+='; builtin eval "$__sg_restore$__sg_code"; done'
  # shellcheck disable=SC2016
  loop+='; if [[ -n $__sg_last ]]; then __sg_was 0'
  # shellcheck disable=SC2016
  loop+='; builtin eval "$__sg_restore$__sg_code"; fi'
  exec /bin/bash -c "$loop" bash "$0"
fi
if (($# == 1)); then
  __sg_file=$1 __sg_loop=$BASH_EXECUTION_STRING
  __sg_start
  builtin set --
else
  __sg_state=$2
  builtin set --
  builtin source "/dev/fd/$__sg_state" 2>/dev/null
  exec {__sg_state}<&-
  builtin eval "$__sg_shell_options"
  builtin eval "$__sg_traps"
  builtin eval "$__sg_options"
fi
