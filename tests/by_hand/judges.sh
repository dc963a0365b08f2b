#!/bin/bash
# Lets tools that others wrote judge the jails: libseccomp's simulator the
# compiled filter; libcap's capsh a program's rights; every stressor of
# stress-ng and the fuzzer trinity the kernel as a jail shows it, while a
# neighbour works. docs/judges.md has the findings. By hand; half an hour on an
# idle machine.
#
#   sudo tests/by_hand/judges.sh [--stressors LIST|all|none] [--seconds N] [--fuzz SECONDS]
#
#   --stressors  only these of stress-ng's, with commas between; all if not said
#   --seconds    of each of them (2)
#   --fuzz       of trinity in each kind of jail (50, and at most 55); 0: none
#
# Needs the release build (build/), root and this machine's Debian sources. What
# the tools do is bounded by the jails alone: not for a machine that matters.
# Exit code: 1 when a tool found something or the host or the daemon is worse off.
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"
source "$(dirname "$0")/../../deploy/debian_tree.sh"

USAGE='usage: judges.sh [--stressors LIST|all|none] [--seconds N] [--fuzz SECONDS]'
PACKAGES=(dpkg-dev gcc libcap2-bin stress-ng trinity)
START_SECONDS=600
# What the kernel says when it was hurt itself.
HURT='BUG:|Oops|WARNING: |RIP: 0010|soft lockup|hung task|stalls? on|KASAN|refcount_t'
# One of each way to make a jail: started in it, forked, started ahead.
KINDS=(bash python ruby javascript)
NEIGHBOUR='print(sum(i * i for i in range(1000)))'
NEIGHBOUR_SAYS=332833500

work=''
daemon=''
bad=0

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  if [[ -n $daemon ]]; then
    kill -TERM "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  [[ -z $work ]] || rm -rf --one-file-system "$work"
  exit "$code"
}

client() { "$SANDGLASS_ROOT/build/bin/sandglass" --address "unix:$work/sandglass.sock" "$@"; }

# check WHAT COMMAND…: says whether the command succeeds.
check() {
  local what=$1
  shift
  if "$@"; then
    say "good: $what"
  else
    say "BAD:  $what"
    bad=1
  fi
}

fetch_simulator() {
  local apt=$work/apt source
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$work/source"
  debian_sources | sed 's/^deb /deb-src /' >"$apt/sources.list"
  local options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
  (cd "$work/source" && apt-get "${options[@]}" update &&
    apt-get "${options[@]}" source libseccomp) || return
  source="$(find "$work/source" -name scmp_bpf_sim.c)"
  gcc -O2 -I "$(dirname "$source")/../include" -o "$work/simulator" \
    "$source" "$(dirname "$source")/util.c"
}

judge_filter() {
  "$SANDGLASS_ROOT/build/bin/filter_cases" "$SANDGLASS_ROOT/policy/data/seccomp" default \
    "$work/filter" >"$work/cases" || return
  /usr/bin/python3 -I "$SANDGLASS_ROOT/tests/support/filters/simulate_filter.py" \
    "$work/simulator" "$work/filter" <"$work/cases"
}

start_daemon() {
  local deadline=$((SECONDS + START_SECONDS))
  mkdir "$work/cache"
  chmod 711 "$work/cache"
  setsid "$SANDGLASS_ROOT/build/bin/sandglassd" --listen "unix:$work/sandglass.sock" \
    --state-dir "$work/state" --cache-dir "$work/cache" >"$work/log" 2>&1 </dev/null &
  daemon=$!
  until grep -q ' languages_ready$' "$work/log"; do
    kill -0 "$daemon" 2>/dev/null || die "the daemon ended: $(tail -n 1 "$work/log")"
    ((SECONDS < deadline)) || die "languages were not prepared in $START_SECONDS s"
    sleep 0.5
  done
}

# in_kind LANGUAGE COMMAND OPTION…: a shell command in a jail of that language's
# kind: an interpreter that waited, forked or started ahead, becomes a shell.
in_kind() {
  local language=$1 command=$2 code
  shift 2
  case $language in
    bash) code=$command ;;
    python) code="import os; os.execv('/bin/bash', ['bash', '-c', '''$command'''])" ;;
    ruby) code="exec('/bin/bash', '-c', %q~$command~)" ;;
    javascript)
      code="require('child_process').spawnSync('/bin/bash', ['-c', \`$command\`], {stdio: 'inherit'})"
      ;;
  esac
  client run --quiet --lang "$language" --code "$code" "$@"
}

judge_rights() {
  local language text line
  for language in "${KINDS[@]}"; do
    text="$(in_kind "$language" '/sbin/capsh --print' 2>&1)" || return
    for line in 'Current: =' 'Bounding set =' 'Ambient set =' ' secure-noroot: yes (locked)'; do
      grep -qxF "$line" <<<"$text" || { printf '%s: %s\n' "$language" "$text"; return 1; }
    done
    grep -q 'no-new-privs=1' <<<"$text" || { printf '%s: %s\n' "$language" "$text"; return 1; }
  done
}
neighbour_is_right() { [[ $(client run -q -l python -c "$NEIGHBOUR" 2>&1) == "$NEIGHBOUR_SAYS" ]]; }

fuzz() {
  local seconds=$1 language text calls
  for language in "${KINDS[@]}"; do
    # Fewer kinds of files: making all of them takes it half a minute.
    text="$(in_kind "$language" "mkdir /tmp/w; cd /tmp/w
timeout -s INT $seconds trinity -N 1000000000 -C 6 -l off -a 64 --enable-fds=testfile,memfd,eventfd,epoll,timerfd > /tmp/w/said 2>&1
grep -a -o 'Ran [0-9]* syscalls.*' /tmp/w/said" --profile large --timeout 60s 2>&1)" || true
    calls="$(sed -n 's/.*Ran \([0-9]*\) syscalls.*/\1/p' <<<"$text")"
    say "trinity, $language: ${text//$'\n'/; }"
    ((${calls:-0} > 0)) || say "  (it ended otherwise before it could say what it had done)"
    neighbour_is_right || return
  done
}

# pgrep's pattern is at most 15 characters long.
theirs() {
  pgrep -l stress-ng
  pgrep -l trinity
}
processes() { { theirs || true; } | wc -l; }
# Nothing of them is left once their runs have ended.
none_left() {
  local _
  for _ in {1..50}; do
    (($(processes) == $1)) && return 0
    sleep 0.1
  done
  theirs
  return 1
}
# Of the lines that came since; the log is long enough for what jails add.
kernel_unhurt() { ! dmesg 2>/dev/null | tail -n "+$(($1 + 1))" | grep -E "$HURT"; }
log_lines() { dmesg 2>/dev/null | wc -l; }
ends_well() {
  local code=0
  kill -TERM "$daemon"
  wait "$daemon" || code=$?
  daemon=''
  ((code == 0))
}
no_groups() {
  local left
  left="$(while IFS= read -r group; do
    [[ -d $group ]] && find "$group" -name cgroup.procs -exec cat {} +
  done <"$work/groups")"
  [[ -z $left ]]
}

main() {
  local stressors=all seconds=2 fuzz=50
  while (($# > 0)); do
    case $1 in
      --stressors | --seconds | --fuzz)
        (($# >= 2)) || die "$USAGE"
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
      *) die "$USAGE" ;;
    esac
    shift
  done
  need_root
  need_debian
  [[ -x $SANDGLASS_ROOT/build/bin/filter_cases ]] ||
    die 'there is no release build; run: cmake --preset release && cmake --build build'
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  work="$(mktemp -d "${TMPDIR:-/var/tmp}/sandglass-judges.XXXXXX")"
  chmod 711 "$work"
  run_step 'Installing the tools' "$work/install.log" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=60 -y install --no-install-recommends "${PACKAGES[@]}"
  run_step "Making libseccomp's simulator" "$work/simulator.log" fetch_simulator
  check "libseccomp's simulator answers as our evaluator does" judge_filter

  local mounts lines before
  printf 'secret %s\n' "$RANDOM" >"$work/canary"
  before="$(sha256sum "$work/canary"; stat -c %y "$work/canary" /etc/passwd /usr)"
  mounts="$(sort /proc/self/mounts)"
  start_daemon
  cp "$work/state/cgroups" "$work/groups"
  lines="$(log_lines)"
  local already
  already="$(processes)"
  check 'a neighbour gets its right answer before' neighbour_is_right
  check 'capsh finds no capability and no way to one in any kind of jail' judge_rights
  if [[ $stressors != none ]]; then
    local only=()
    [[ $stressors == all ]] || only=(--only "$stressors")
    check "stress-ng's stressors" /usr/bin/python3 -I \
      "$SANDGLASS_ROOT/tests/support/host/stressors.py" \
      --client "$SANDGLASS_ROOT/build/bin/sandglass" \
      --address "unix:$work/sandglass.sock" --seconds "$seconds" "${only[@]}"
  fi
  ((fuzz == 0)) || check 'a neighbour gets its right answer between fuzzers' fuzz "$fuzz"
  check 'a neighbour gets its right answer after' neighbour_is_right
  check 'the daemon is the same process' kill -0 "$daemon"
  check 'no process of theirs is left' none_left "$already"
  check 'the kernel complained of nothing' kernel_unhurt "$lines"
  check 'files of the host are as they were' \
    test "$before" = "$(sha256sum "$work/canary"; stat -c %y "$work/canary" /etc/passwd /usr)"
  check 'the daemon ends with 0' ends_well
  check 'no process is left in its control groups' no_groups
  check 'no mount is left' test "$mounts" = "$(sort /proc/self/mounts)"
  return "$bad"
}

main "$@"
