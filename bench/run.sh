#!/bin/bash
# Measures all that is said of Sandglass's speed and memory, side by side with
# the bare commands, bubblewrap, crun, runc and Docker, and says whether it keeps
# its promises. By hand, on an otherwise idle machine; no part of the tests.
#
#   sudo ./bench/run.sh [options]
#
# Everything in ten minutes or more, or what these choose, together:
#   --programs LIST   these programs, one run at a time ("all": every one)
#   --in-flight LIST  so many runs at once, of these programs, else of the first
#   --memory          what idle jails hold
#   --filter-cost     what seccomp and Landlock take from programs
#   --sessions        sessions with a Python kernel beside stateless runs
#   --libraries       sets of libraries beside pip and npm, and the proxy
#   --overload        a minute of calls at ten times the rate that can be served
#   --burst           a thousand sessions that are asked for at once
#   --workloads DIR   a folder of programs that others wrote (in no case part of
#                     everything)
#
#   --contenders LIST       only these ("sandglass warm", bare, crun…)
#   --workload-programs N   of each file of the folder (20; 0: all)
#   -n N                    runs of each program one at a time (200, or what
#                           six seconds have room for)
#   --library-rounds N      installs of each set, three times as many of small
#                           ones, and fetches through the proxy (5)
#   --quick                 few runs: only shows that everything works
#   --gap MS                rest before each of these in milliseconds (10)
#   --in-turn N             of the first program so many runs of one contender
#                           follow each other (50)
#   --json FILE             write the figures there too
#   --bin DIR               measure the programs in DIR instead of building
#
# The tables go to stdout as Markdown, all else to stderr. Exit code: 0 when
# Sandglass meets the bars of what was measured, 1 when it misses one or one
# could not be judged, 2 when nothing was measured.
set -euo pipefail
source "$(dirname "$0")/../deploy/common.sh"

START_SECONDS=20
PREPARE_SECONDS=300
PREFIX=sandglass-bench-$$

base=/tmp
[[ -d /run && -w /run ]] && base=/run
# Always the same: only one such daemon can run, and when this script is killed
# the next one's daemon sweeps what was left behind.
DAEMON_DIR=$base/sandglass-bench # and -warm, -cold, -rules, -crowd, -libraries, -burst
CROWD=200                        # its idle jails of each kind
BURST=1000                       # sessions at once, where open files suffice
SESSION_FILES=19                 # of each in the daemon, and some for all else
LIBRARY_ROUNDS=5

state=''  # this run's private folder
cache=''  # what the daemons prepare for languages
visible='' # what Docker's engine sees too
daemons=() # the pids of the daemons that this run started
started=() # the directories of those that listen
registry='' # the pid of the registry of packages
bench=''  # the pid of the program that measures

usage() {
  say "usage: sudo $0 [--programs LIST] [--in-flight LIST] [--memory] [--filter-cost] [--sessions] [--libraries] [--overload] [--burst] [--workloads DIR]"
  say "       [--contenders LIST] [--workload-programs N] [-n N] [--quick] [--gap MS] [--in-turn N]"
  say "       [--library-rounds N] [--json FILE] [--bin DIR]"
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

# What Docker's engine was given; in most cases there is none.
remove_containers() {
  [[ -d $visible/image ]] || return 0
  local container
  while IFS= read -r container; do
    docker rm --force "$container" >/dev/null 2>&1
  done < <(docker ps --all --quiet --filter "label=$PREFIX" 2>/dev/null)
  docker image rm --force "$PREFIX" >/dev/null 2>&1
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM HUP
  set +e
  if [[ -n $bench ]]; then
    stop "$bench" TERM KILL
    # The commands that it had started.
    kill -KILL -- "-$bench" 2>/dev/null
  fi
  [[ -n $visible ]] && remove_containers
  local daemon
  for daemon in "${daemons[@]}"; do stop "$daemon" TERM TERM KILL; done
  [[ -n $registry ]] && stop "$registry" TERM KILL
  sweep
  [[ -n $state ]] && rm -rf --one-file-system "$state"
  [[ -n $cache ]] && rm -rf --one-file-system "$cache"
  [[ -n $visible ]] && rm -rf --one-file-system "$visible"
  give_back
  exit "$code"
}

# start_daemon BIN NAME CONFIG: a daemon that listens on NAME.sock in $state.
start_daemon() {
  local bin=$1 name=$2 deadline=$((SECONDS + START_SECONDS)) daemon
  local directory=$DAEMON_DIR-$name log=$state/$name.log
  # They run side by side, and so need ids of their own; the user stays the same,
  # since it owns the cache.
  local own_ids="\"uid_base\": $((1879048192 + (1 + ${#daemons[@]}) * 131072))"
  own_ids+=', "user": "1879048191:1879048191"'
  local rest=${3#\{}
  [[ $rest == '}' ]] || own_ids+=', '
  printf '{%s%s\n' "$own_ids" "$rest" >"$state/$name.json"
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

# start_registry VERSIONS: it listens when $cache/registry/ports is there.
start_registry() {
  local directory=$cache/registry deadline=$((SECONDS + START_SECONDS))
  mkdir "$directory"
  setsid /usr/bin/python3 "$SANDGLASS_ROOT/bench/registry/registry.py" "$directory" "$1" \
    >"$state/registry.log" 2>&1 </dev/null &
  registry=$!
  until [[ -s $directory/ports ]]; do
    if ! runs "$registry" || ((SECONDS >= deadline)); then
      tail -n 20 "$state/registry.log" >&2
      fail "the registry of packages did not start; its last words are above"
    fi
    sleep 0.1
  done
}

# start_libraries BIN ROUNDS: the registry, and a daemon that installs from it;
# sets library_options.
start_libraries() {
  # One more than rounds of the sets that are installed the most often.
  local bin=$1 versions=$((3 * $2 + 1)) registry_port bytes_port
  start_registry "$versions"
  read -r registry_port bytes_port <"$cache/registry/ports"
  cp -r "$SANDGLASS_ROOT/policy/data" "$state/library-policy"
  cp "$SANDGLASS_ROOT"/bench/registry/{default,web}.json "$state/library-policy/profiles"
  start_daemon "$bin" libraries "{\"policy_dir\": \"$state/library-policy\",
    \"libraries\": {\"dir\": \"$cache/layers\", \"registries\": {
      \"python\": {\"url\": \"http://127.0.0.2:$registry_port/simple/\"},
      \"javascript\": {\"url\": \"http://127.0.0.2:$registry_port/\"}}}}"
  library_options=(--libraries-address "unix:$state/libraries.sock"
    --registry-port "$registry_port" --bytes-port "$bytes_port"
    --registry-versions "$versions" --library-rounds "$2"
    --registry-scripts "$SANDGLASS_ROOT/bench/registry")
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
    --target sandglassd sandglass-spawner sandglass-egress sandglass_bench
}

# number OPTION TEXT LEAST
number() {
  if ! [[ $2 =~ ^[0-9]{1,4}$ ]] || ((10#$2 < $3)); then
    fail "$1 takes a number from $3 to 9999, not '$2'"
  fi
}

main() {
  local bin='' quick='' chosen='' crowd='' burst='' libraries='' rounds=$LIBRARY_ROUNDS
  local options=() library_options=()
  while (($# > 0)); do
    case $1 in
      -n | --gap | --in-turn | --json | --bin | --programs | --in-flight | --workloads | \
        --contenders | --workload-programs | --library-rounds)
        (($# >= 2)) || { usage >&2; exit 2; }
        case $1 in
          # Asked for, so no budget cuts it.
          -n) number "$1" "$2" 1; options+=(--runs "$2" --budget 100000) ;;
          --in-turn) number "$1" "$2" 1; options+=("$1" "$2") ;;
          --gap | --workload-programs) number "$1" "$2" 0; options+=("$1" "$2") ;;
          --library-rounds) number "$1" "$2" 1; rounds=$((10#$2)) ;;
          --json)
            { : >>"$2"; } 2>/dev/null || fail "cannot write $2"
            options+=(--json "$2")
            ;;
          --bin) bin=$2 ;;
          --contenders) options+=("$1" "$2") ;;
          *) chosen=yes; options+=("$1" "$2") ;;
        esac
        shift
        ;;
      --memory) chosen=yes; crowd=yes; options+=("$1") ;;
      --burst) chosen=yes; burst=yes; options+=("$1") ;;
      --filter-cost | --sessions | --overload) chosen=yes; options+=("$1") ;;
      --libraries) chosen=yes; libraries=yes; options+=("$1") ;;
      --quick) quick=yes ;;
      --help | -h) usage; exit 0 ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  if [[ -n $quick ]]; then
    options+=(--runs 10 --budget 0 --loop-rounds 1 --window 0.3 --wall-runs 5
      --layers-rounds 2 --session-rounds 10 --library-uses 20 --overload-seconds 3
      --workload-programs 2)
    rounds=1
  fi
  ((EUID == 0)) || fail "this needs root (namespaces, cgroups); run: sudo $0"

  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  if [[ -z $bin ]]; then
    build >&2 || fail "the build failed; sudo ./deploy/install-deps.sh --test installs what it needs"
    bin=$SANDGLASS_ROOT/build/bin
  fi
  # Commands are started from the root directory.
  bin="$(realpath -- "$bin")"
  local program
  for program in sandglassd sandglass-spawner sandglass-egress sandglass-bench sandglass-bench-confine; do
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
  visible="$(mktemp -d /var/tmp/sandglass-bench.XXXXXX)"
  start_daemon "$bin" warm '{}'
  start_daemon "$bin" cold '{"pool": {"floor": 0}}'
  cp -r "$SANDGLASS_ROOT/policy/data" "$state/policy"
  cp "$SANDGLASS_ROOT/bench/rules.json" "$state/policy/profiles/default.json"
  start_daemon "$bin" rules "{\"policy_dir\": \"$state/policy\",
    \"audit\": {\"dir\": \"$state/audit\", \"fsync\": \"off\"}}"
  if [[ -n $crowd || -z $chosen ]]; then
    start_daemon "$bin" crowd "{\"pool\": {\"floor\": $CROWD, \"ceiling\": $CROWD,
      \"most_idle\": 1000, \"memory_budget\": \"16GiB\"}}"
    options+=(--crowd-address "unix:$state/crowd.sock" --crowd-jails "$CROWD"
      --crowd-state-dir "$DAEMON_DIR-crowd" --crowd-pid "${daemons[-1]}")
  fi
  if [[ -n $burst || -z $chosen ]]; then
    local most=$BURST files
    ulimit -Sn "$(ulimit -Hn)"
    files=$(ulimit -n)
    [[ $files == unlimited ]] || ((files / SESSION_FILES >= most)) ||
      most=$((files / SESSION_FILES))
    [[ -z $quick ]] || most=20
    # All of them wait together for their first run.
    start_daemon "$bin" burst "{\"sessions\": {\"max\": $most, \"reserve\": 0},
      \"admission\": {\"max_queued\": 4000, \"max_queued_per_caller\": 4000,
      \"queue_timeout\": \"60s\"}}"
    options+=(--burst-address "unix:$state/burst.sock" --burst-sessions "$most")
  fi
  if [[ -n $libraries || -z $chosen ]]; then
    start_libraries "$bin" "$rounds"
    options+=("${library_options[@]}")
  fi
  # In the background and waited for, so that signals reach the traps above; in
  # a process group of its own with the commands that it starts.
  set -m
  "$bin/sandglass-bench" --address "unix:$state/warm.sock" \
    --state-dir "$DAEMON_DIR-warm" --cold-address "unix:$state/cold.sock" \
    --cold-state-dir "$DAEMON_DIR-cold" --rules-address "unix:$state/rules.sock" \
    --rules-state-dir "$DAEMON_DIR-rules" --directory "$state/mounts" \
    --launcher "$bin/sandglass-bench-confine" --visible "$visible" --prefix "$PREFIX" \
    --programs-directory "$SANDGLASS_ROOT/bench/programs" \
    "${options[@]}" </dev/null &
  bench=$!
  set +m
  wait "$bench" || code=$?
  bench=''
  local name
  for name in warm cold rules libraries burst; do
    grep -qs . "$state/$name.log" && ((code == 2)) && tail -n 20 "$state/$name.log" >&2
  done
  # A signal ended it: nothing was measured.
  ((code <= 2)) || code=2
  return "$code"
}

main "$@"
