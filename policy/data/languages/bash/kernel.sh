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
# The shell's script is cells.bash, under the name bash: to itself a cell is a program
# of that name, and $0, BASH_SOURCE and errors say so. It is started where it is.
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
    builtin trap - EXIT INT "${__sg_signals[@]%:*}"
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

__sg_signal() {
  if [[ -n $__sg_id ]]; then
    builtin printf '%s: ended by SIG%s\n' "$0" "$1" >&"$__sg_err"
  fi
}

# That would end the shell. ILL, BUS and FPE are faults, which a shell that handles
# them would repeat for ever.
__sg_signals=(HUP:1 TRAP:5 ABRT:6 USR1:10 SEGV:11 USR2:12 PIPE:13 ALRM:14 TERM:15
  XCPU:24 XFSZ:25 VTALRM:26 PROF:27 IO:29 PWR:30 SYS:31)

# Such a signal ends the cell: of these signals those that are named, as in trap;
# all without.
__sg_guard() {
  builtin local IFS=$' \t\n' one name number
  for one in "${__sg_signals[@]}"; do
    name=${one%:*} number=${one#*:}
    if (($# == 0)) || [[ " ${*^^} " =~ \ (SIG)?$name\  || " $* " == *" $number "* ]]; then
      # shellcheck disable=SC2064 # they are known now
      builtin trap "{ __sg_signal $name; builtin exit $((128 + number)); } 2>/dev/null" \
        "$name"
    fi
  done
}

# The shell exits: by the cell's word, by an error under set -e, by a signal.
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
  # With the fewest open files the script's is the last one above 9.
  builtin eval "exec $((__sg_err + 1))<&-"
  exec {fd}< <(__sg_dump "$@")
  builtin local directory=$PWD
  builtin cd "$__sg_place" || builtin exit "$__sg_leaving"
  BASH_ENV='' exec /bin/bash bash "$directory" "$fd"
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

# A cell's own EXIT trap is called when the shell would exit. The kernel's are not
# listed.
trap() {
  if (($# == 0)) || [[ $1 == -p ]]; then
    builtin local line list
    # shellcheck disable=SC2064 # as it was given
    list=$(builtin trap "$@")
    while IFS= builtin read -r line; do
      if [[ $line != "trap -- '{ __sg_"* ]]; then builtin printf '%s\n' "$line"; fi
    done <<<"${list:-"trap -- '{ __sg_"}"
    builtin return
  fi
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
  builtin trap "$@" || builtin return
  if [[ $BASHPID == "$__sg_pid" ]]; then
    if [[ $1 == -- ]]; then builtin shift; fi
    if [[ $1 == - || $# -eq 1 ]]; then __sg_guard "$@"; fi
  fi
}
builtin declare -ft trap

__sg_start() {
  __sg_pid=$$ __sg_id='' __sg_count=0 __sg_leaving='' __sg_on_exit=''
  __sg_flags='' __sg_last=''
  # Out of the way of a cell's files.
  builtin local most
  most=$(builtin ulimit -n)
  # The last one is the script's.
  if [[ $most == unlimited ]] || ((most > 255)); then most=255; fi
  __sg_in=$((most - 5)) __sg_events=$((most - 4))
  __sg_out=$((most - 3)) __sg_err=$((most - 2))
  builtin eval "exec $__sg_in<&0 $__sg_events>&3 $__sg_out>&1 $__sg_err>&2 3>&-"
  builtin printf '{"ev":"ready","pid":%d}\n' "$$" >&"$__sg_events"
}

if [[ $0 == "${BASH_SOURCE[0]}" ]]; then
  directory=$PWD
  cd "${0%/*}" || exit
  exec /bin/bash bash "$directory"
fi
__sg_place=$PWD __sg_directory=$1 __sg_state=$2
builtin set --
if [[ -z $__sg_state ]]; then
  __sg_start
  __sg_guard
  builtin cd -- "$__sg_directory" || builtin exit
  builtin unset -v OLDPWD
else
  # Closed before others are opened, for the same reason.
  __sg_text=$(<"/dev/fd/$__sg_state")
  exec {__sg_state}<&-
  # One that is gone can't be gone to.
  builtin cd -- "$__sg_directory" 2>/dev/null || builtin cd / || builtin exit
  builtin eval "$__sg_text" 2>/dev/null
  __sg_text=
  builtin eval "$__sg_shell_options"
  builtin eval "$__sg_traps"
  builtin eval "$__sg_options"
fi
