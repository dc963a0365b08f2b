#!/bin/bash
# Times Python runs through the daemon, with the interpreter waiting in its jail
# and without, against bare python3, bubblewrap, crun and runc, and says whether Sandglass keeps its promises of speed. By
# hand, on an otherwise idle machine; no part of the tests.
#
#   sudo ./bench/run.sh [--languages] [-n N] [--quick] [--json FILE] [--gap MS]
#                       [--bin DIR]
#
#   --languages  instead: one small program in each language, against the bare
#                commands
#   -n N         runs of each contender (200); with --languages (60), compiled
#                languages have half as many
#   --quick      20 runs each, 6 with --languages: only shows that everything works
#   --json FILE  write the figures there too
#   --gap MS     rest before each run in milliseconds (10)
#   --bin DIR    measure the programs in DIR instead of building build/bin
#
# The table goes to stdout as Markdown, all else to stderr. Exit code: 0 when
# Sandglass meets its bars (warm against bare, cold against bubblewrap; with
# --languages that of each language), 1 when it isn't or a contender is missing, 2 when nothing was
# measured.
set -euo pipefail
source "$(dirname "$0")/../deploy/common.sh"

START_SECONDS=20
PREPARE_SECONDS=300
PREFIX=sandglass-bench-$$

base=/tmp
[[ -d /run && -w /run ]] && base=/run
# Always the same: only one such daemon can run, and when this script is killed
# the next one's daemon sweeps what was left behind.
DAEMON_DIR=$base/sandglass-bench # and -warm, -cold

state=''  # this run's private folder
cache=''  # what the daemons prepare for languages
daemons=() # the pids of the daemons that this run started
started=() # the directories of those that listen
bench=''  # the pid of the program that measures

usage() {
  say "usage: sudo $0 [--languages] [-n N] [--quick] [--json FILE] [--gap MS] [--bin DIR]"
}

runs() {
  [[ -n $1 ]] && kill -0 "$1" 2>/dev/null
}

# stop PID SIGNAL…: sends one signal after the other until the process is gone.
stop() {
  local pid=$1 signal _
  shift
  for signal in "$@"; do
    runs "$pid" || break
    kill "-$signal" "$pid" 2>/dev/null || true
    for _ in {1..50}; do
      runs "$pid" || break 2
      sleep 0.1
    done
  done
  wait "$pid" 2>/dev/null
}

# remove_groups: reads paths of control groups and removes each with all below
# it, processes too.
remove_groups() {
  local group pid _
  while IFS= read -r group; do
    [[ -d $group && ${group##*/} == sandglass-* ]] || continue
    for _ in {1..20}; do
      while IFS= read -r pid; do
        kill -KILL "$pid" 2>/dev/null
      done < <(find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null)
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
      [[ -d $group ]] || break
      sleep 0.1
    done
  done
}

# The daemon can't remove its own groups: it is in them, without root's rights.
# Of crun and runc, groups are left only when this run was cut short.
sweep() {
  local directory
  for directory in "${started[@]}"; do
    remove_groups <"$directory/cgroups"
    rm -rf --one-file-system "$directory"
  done
  remove_groups < <(
    find /sys/fs/cgroup -mindepth 1 -maxdepth 2 -type d -name "$PREFIX-*" 2>/dev/null)
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM HUP
  set +e
  [[ -n $bench ]] && stop "$bench" TERM KILL
  local daemon
  for daemon in "${daemons[@]}"; do stop "$daemon" TERM TERM KILL; done
  sweep
  [[ -n $state ]] && rm -rf --one-file-system "$state"
  [[ -n $cache ]] && rm -rf --one-file-system "$cache"
  give_back
  exit "$code"
}

# start_daemon BIN NAME CONFIG: a daemon that listens on NAME.sock in $state.
start_daemon() {
  local bin=$1 name=$2 deadline=$((SECONDS + START_SECONDS)) daemon
  local directory=$DAEMON_DIR-$name log=$state/$name.log
  printf '%s\n' "$3" >"$state/$name.json"
  # A process group of its own: Ctrl-C here is for this script.
  setsid "$bin/sandglassd" --config "$state/$name.json" \
    --listen "unix:$state/$name.sock" --state-dir "$directory" \
    --cache-dir "$cache" \
    >"$log" 2>&1 </dev/null &
  daemon=$!
  daemons+=("$daemon")
  until [[ -S $state/$name.sock ]]; do
    if ! runs "$daemon"; then
      tail -n 20 "$log" >&2
      fail "the daemon ended while starting; its last words are above"
    fi
    if ((SECONDS >= deadline)); then
      tail -n 20 "$log" >&2
      fail "the daemon made no socket in $START_SECONDS s; its log is above"
    fi
    sleep 0.1
  done
  started+=("$directory")
  await_languages "$daemon" "$log"
}

# await_languages PID LOG: the daemon has prepared what it prepares once.
await_languages() {
  local deadline=$((SECONDS + PREPARE_SECONDS))
  until grep -qE '^[^ ]+ [a-z]+ languages_ready$' "$2"; do
    runs "$1" || fail "the daemon ended while preparing languages"
    ((SECONDS < deadline)) ||
      fail "languages were not prepared in $PREPARE_SECONDS s"
    sleep 0.5
  done
}

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 2
}

build() {
  local dir=$SANDGLASS_ROOT/build
  run_step 'Configuring (release)' "$dir/logs/configure.log" \
    cmake -S "$SANDGLASS_ROOT" --preset release || return
  NINJA_STATUS='[%f/%t] ' run_step 'Building (release)' "$dir/logs/build.log" \
    cmake --build "$dir" --parallel "$(parallel_jobs)" \
    --target sandglassd sandglass-spawner sandglass_bench
}

# number OPTION TEXT LEAST
number() {
  if ! [[ $2 =~ ^[0-9]{1,4}$ ]] || ((10#$2 < $3)); then
    fail "$1 takes a number from $3 to 9999, not '$2'"
  fi
}

main() {
  local bin='' mode=jails quick='' options=()
  while (($# > 0)); do
    case $1 in
      -n | --gap | --json | --bin)
        (($# >= 2)) || { usage >&2; exit 2; }
        case $1 in
          -n) number "$1" "$2" 1; options+=(--rounds "$2") ;;
          --gap) number "$1" "$2" 0; options+=(--gap "$2") ;;
          --json)
            { : >>"$2"; } 2>/dev/null || fail "cannot write $2"
            options+=(--json "$2")
            ;;
          --bin) bin=$2 ;;
        esac
        shift
        ;;
      --languages) mode=languages ;;
      --quick) quick=yes ;;
      --help | -h) usage; exit 0 ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  if [[ -n $quick ]]; then
    case $mode in
      jails) options+=(--rounds 20 --wall-runs 10) ;;
      languages) options+=(--rounds 6) ;;
    esac
  fi
  ((EUID == 0)) || fail "this needs root (namespaces, cgroups); run: sudo $0"

  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  if [[ -z $bin ]]; then
    build >&2 || fail "the build failed; sudo ./deploy/install-deps.sh --test installs what it needs"
    bin=$SANDGLASS_ROOT/build/bin
  fi
  local program
  for program in sandglassd sandglass-spawner sandglass-bench; do
    [[ -x $bin/$program ]] || fail "$bin/$program is not there"
  done

  local code=0
  state="$(mktemp -d "$base/sandglass-bench.XXXXXX")"
  # The daemon gives up root after its start and must still reach its socket.
  chmod 711 "$state"
  mkdir "$state/mounts"
  # Hundreds of MiB, which /run may not have.
  cache="$(mktemp -d /var/tmp/sandglass-bench.XXXXXX)"
  chmod 711 "$cache"
  start_daemon "$bin" warm '{}'
  case $mode in
    jails)
      start_daemon "$bin" cold '{"pool": {"floor": 0}}'
      options+=(--cold-address "unix:$state/cold.sock" --prefix "$PREFIX")
      ;;
    languages) options+=(--programs "$SANDGLASS_ROOT/bench/programs") ;;
  esac
  # In the background and waited for, so that signals reach the traps above.
  "$bin/sandglass-bench" "$mode" --address "unix:$state/warm.sock" \
    --directory "$state/mounts" "${options[@]}" </dev/null &
  bench=$!
  wait "$bench" || code=$?
  bench=''
  local daemon
  for daemon in "${daemons[@]}"; do
    runs "$daemon" || tail -n 20 "$state"/*.log >&2
  done
  # A signal ended it: nothing was measured.
  ((code <= 2)) || code=2
  return "$code"
}

main "$@"
