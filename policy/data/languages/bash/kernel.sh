#!/bin/bash
# The bash kernel: runs cells one after another in this shell, so that what they
# leave stays. Commands come on descriptor 0, events go to 3:
#
#     run ID CODE_BYTES INPUT_BYTES ARGUMENT_BYTES [last]
#
# and right behind it the code and, in base64, the cell's standard input and its
# arguments, each with a NUL at its end.
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
# What a cell has set must not change what is done here: options, traps, IFS, functions
# and read-only variables of any name but __sg_*, builtins that it has switched off.
# Where nothing can be done any more, as after set -n, the shell ends.

# Ends the cell that has just run and takes the next one, into __sg_code, what comes
# before that into __sg_first, and __sg_words. Its status is 3 for all but the last one.
__sg_next() {
  builtin enable "${__sg_builtins[@]}"
  # Between cells it is nobody's.
  builtin trap '' INT
  if [[ -n $__sg_leaving ]]; then
    __sg_end=$__sg_leaving
    __sg_leaving=
  fi
  if [[ -n $__sg_id ]]; then __sg_tell "$__sg_end"; fi
  __sg_repair
  # A locale that isn't there is complained of whenever it comes back.
  if ! __sg_read 2>&"$__sg_null"; then
    __sg_id=
    builtin exit 0
  fi
  ((++__sg_count))
  # Not executed: the first line of the cell before was none of bash's.
  if [[ -n $__sg_restore ]]; then __sg_flags=$__sg_held_flags; fi
  __sg_restore=
  builtin local __sg_name __sg_command
  for __sg_name in ERR RETURN DEBUG; do
    __sg_command=__sg_on_$__sg_name
    if [[ -n ${!__sg_command} ]]; then
      builtin printf -v __sg_command %q "${!__sg_command}"
      __sg_restore+="builtin trap -- $__sg_command $__sg_name; "
    fi
  done
  if [[ $__sg_flags == *[efknuvxC]* ]]; then
    __sg_restore+="builtin set -${__sg_flags//[!efknuvxC]/}; "
  fi
  # In the cell's first line, so that its numbers stay as they are.
  __sg_held_flags=$__sg_flags __sg_first=${__sg_restore:+'__sg_set; '}
  if [[ -n $__sg_last ]]; then
    builtin unset -f trap
    builtin trap - EXIT INT "${__sg_signals[@]%:*}"
    if [[ -n $__sg_early ]]; then builtin kill -INT "$$"; fi
    builtin return 0
  fi
  builtin trap '{ __sg_leave "$?" "$@"; } 2>&"$__sg_null"' EXIT
  builtin trap '{ __sg_interrupt; } 2>&"$__sg_null"' INT
  if [[ -n $__sg_early ]]; then builtin kill -INT "$$"; fi
  builtin return 3
}

# Brings the cell's options and traps back.
__sg_set() {
  builtin local __sg_command="$__sg_restore"
  __sg_restore=
  builtin eval "$__sg_command"
}

# Takes a command. False at their end.
__sg_read() {
  builtin local IFS=' ' LC_ALL=C
  builtin local __sg_line __sg_bytes __sg_input __sg_arguments
  __sg_take __sg_line || builtin return
  __sg_last=
  if [[ $__sg_line == *\ last ]]; then __sg_last=1; fi
  __sg_early=
  builtin trap '__sg_early=1' INT
  # IFS may be read-only.
  for __sg_bytes in __sg_id __sg_code __sg_input __sg_arguments; do
    __sg_line=${__sg_line#* }
    builtin printf -v "$__sg_bytes" %s "${__sg_line%% *}" || builtin return
  done
  for __sg_bytes in __sg_code __sg_input __sg_arguments; do
    if ((${!__sg_bytes} > 0)); then
      __sg_take -N "${!__sg_bytes}" "$__sg_bytes" || builtin return
    else
      builtin printf -v "$__sg_bytes" %s ''
    fi
  done
  __sg_words=()
  if [[ -n $__sg_arguments ]]; then
    builtin mapfile -d '' -t __sg_words < <(__sg_decode "$__sg_arguments")
  fi
  if [[ -n $__sg_input ]]; then
    # By a process that nobody waits for: a cell need not read all of it.
    exec 0< <(__sg_decode "$__sg_input" &)
  else
    exec 0</dev/null
  fi
}

# Whatever time a cell has set for its own reading.
__sg_take() { builtin read -r -t 99999999 -u "$__sg_in" "$@"; }

__sg_decode() {
  builtin printf %s "$1" | /usr/bin/base64 -d 2>&"$__sg_err"
}

__sg_tell() {
  builtin local __sg_status=ok
  if (($1 != 0)); then __sg_status=error; fi
  builtin printf \
    '{"ev":"done","id":%d,"status":"%s","exit_code":%d,"count":%d}\n' \
    "$__sg_id" "$__sg_status" "$1" "$__sg_count" >&"$__sg_events"
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

# What is done by the kernel's own commands.
__sg_builtins=(alias cd declare enable eval exec exit kill local mapfile printf read return
  set shift shopt source trap ulimit unset)

# Such a signal ends the cell: of these signals those that are named, as in trap;
# all without.
__sg_guard() {
  builtin local __sg_one __sg_name __sg_number
  for __sg_one in "${__sg_signals[@]}"; do
    __sg_name=${__sg_one%:*} __sg_number=${__sg_one#*:}
    if (($# == 0)) || __sg_names "$@"; then
      # shellcheck disable=SC2064 # they are known now
      builtin trap "{ __sg_signal $__sg_name; builtin exit $((128 + __sg_number)); } \
        2>&$__sg_null" "$__sg_name"
    fi
  done
}

# Whether the signal is one of these.
__sg_names() {
  builtin local __sg_word
  for __sg_word; do
    case ${__sg_word^^} in
      "$__sg_name" | "SIG$__sg_name" | "$__sg_number") builtin return 0 ;;
    esac
  done
  builtin return 1
}

# The shell exits: by the cell's word, by an error under set -e, by a signal.
# Exit code and positional parameters are handed over.
__sg_leave() {
  unset -f builtin
  builtin trap - DEBUG
  builtin enable "${__sg_builtins[@]}"
  __sg_options=$(builtin set +o)
  builtin set +efknuvxC
  __sg_leaving=$1 __sg_on_DEBUG=
  builtin shift
  # Those of a function are not the cell's.
  if ((${#FUNCNAME[@]} > 2)); then builtin set -- "${__sg_before[@]}"; fi
  if [[ $BASHPID != "$__sg_pid" ]]; then builtin exit "$__sg_leaving"; fi
  if [[ -n $__sg_on_exit ]]; then
    builtin local __sg_command="$__sg_on_exit"
    __sg_on_exit=
    __sg_was "$__sg_leaving"
    builtin eval "$__sg_command" 2>&"$__sg_err"
  fi
  if [[ -z $__sg_id ]]; then builtin exit "$__sg_leaving"; fi
  builtin trap - EXIT INT ERR RETURN
  __sg_traps=$(builtin trap -p)
  __sg_shell_options=$(builtin shopt -p)
  builtin local __sg_fd
  # With the fewest open files the script's is the last one above 9.
  builtin eval "exec $((__sg_err + 1))<&-"
  exec {__sg_fd}< <(__sg_dump "$@")
  builtin local __sg_cwd=$PWD
  builtin cd "$__sg_place" || builtin exit "$__sg_leaving"
  BASH_ENV='' exec /bin/bash bash "$__sg_cwd" "$__sg_fd"
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

# A cell's own EXIT trap is called when the shell would exit, and those that bash calls
# between commands are in force in cells alone. The kernel's are not listed.
trap() {
  if (($# == 0)) || [[ $1 == -p ]]; then
    builtin local __sg_line __sg_list
    # shellcheck disable=SC2064 # as it was given
    __sg_list=$(builtin trap "$@")
    while IFS= builtin read -r __sg_line; do
      if [[ $__sg_line != "trap -- '{ __sg_"* ]]; then
        builtin printf '%s\n' "$__sg_line"
      fi
    done <<<"${__sg_list:-"trap -- '{ __sg_"}"
    builtin return
  fi
  if [[ $BASHPID == "$__sg_pid" && $1 == -- ]]; then builtin shift; fi
  if [[ $BASHPID == "$__sg_pid" && $1 != -[lp]* ]]; then
    builtin local -a __sg_rest
    __sg_rest=()
    if (($# == 1)); then builtin set -- - "$1"; fi
    builtin local __sg_word __sg_command="$1"
    if [[ $1 == - ]]; then __sg_command=; fi
    for __sg_word in "${@:2}"; do
      case ${__sg_word^^} in
        EXIT | 0) __sg_on_exit=$__sg_command ;;
        DEBUG | ERR | RETURN)
          builtin printf -v "__sg_on_${__sg_word^^}" %s "$__sg_command"
          __sg_rest+=("$__sg_word")
          ;;
        *) __sg_rest+=("$__sg_word") ;;
      esac
    done
    if ((${#__sg_rest[@]} == 0)); then builtin return 0; fi
    builtin set -- "$1" "${__sg_rest[@]}"
  fi
  # The last command: after it bash calls what it sets.
  if [[ $BASHPID == "$__sg_pid" && $1 == - ]]; then
    # shellcheck disable=SC2064 # as it was given
    builtin trap "$@" || builtin return
    __sg_guard "$@"
  else
    # shellcheck disable=SC2064 # as it was given
    builtin trap "$@"
  fi
}
builtin declare -ft trap

__sg_start() {
  __sg_pid=$$ __sg_id='' __sg_count=0 __sg_leaving='' __sg_on_exit=''
  __sg_flags='' __sg_last='' __sg_on_DEBUG='' __sg_on_ERR='' __sg_on_RETURN=''
  __sg_restore='' __sg_before=()
  # Out of the way of a cell's files.
  builtin local most
  most=$(builtin ulimit -n)
  # The last one is the script's.
  if [[ $most == unlimited ]] || ((most > 255)); then most=255; fi
  __sg_null=$((most - 6)) __sg_in=$((most - 5)) __sg_events=$((most - 4))
  __sg_out=$((most - 3)) __sg_err=$((most - 2))
  builtin eval "exec $__sg_in<&0 $__sg_events>&3 $__sg_out>&1 $__sg_err>&2 3>&- \
    $__sg_null>/dev/null"
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
