#!/bin/bash
# What tests/by_hand/arm64.sh runs inside its machine, as root, from the project's
# directory there. Each line for people begins with "VM: ".
set -euo pipefail
source "${0%/*}/parts.sh"

BIN=$PWD/build-aarch64/bin
STATE=/var/lib/sandglass-check
START_SECONDS=600
export PATH=$BIN:$PATH
export SANDGLASS_ADDRESS=unix:$STATE.sock

# gtest PROGRAM [FILTER]: its last words, and all of those that failed.
gtest() {
  local log=/tmp/$1.log code=0
  "$1" --gtest_filter="${2:-*}" >"$log" 2>&1 || code=$?
  grep -E '^\[  (PASSED|FAILED|SKIPPED)' "$log" || true
  ((code == 0)) || grep -vE '^\[( RUN |       OK |-----)|^ *$' "$log" | cut -c1-200 | head -n 40
  grep -qE '^\[  PASSED  \] [1-9]' "$log" || code=1
  return "$code"
}

host() {
  sandglassd --check --state-dir "$STATE" | sed -n '/^layer/,/^$/p'
}

answers() { sandglass info >/dev/null 2>&1; }

start_daemon() {
  local start=$SECONDS
  sandglassd --listen "$SANDGLASS_ADDRESS" --state-dir "$STATE" >/var/log/sandglassd.log 2>&1 </dev/null &
  echo $! >"$STATE.pid"
  until answers; do
    if [[ ! -e /proc/$! ]] || ((SECONDS - start >= START_SECONDS)); then
      tail -n 20 /var/log/sandglassd.log
      return 1
    fi
    sleep 0.5
  done
  echo "answers after $((SECONDS - start)) s"
  sandglass info | sed '/^Profiles/,$d'
}

# says WORDS ARGUMENT…: sandglass run with these arguments prints exactly that.
says() {
  local said
  said="$(sandglass run "${@:2}" 2>&1)" || true
  [[ $said == "$1"* ]] || {
    echo "${*:2}: $said"
    return 1
  }
}

# The first may come before an interpreter waits.
python() {
  says 42 -l python -c 'print(6 * 7)'
  for _ in {1..60}; do
    sandglass run --json -l python -c 'print(1)' | grep -q '"warm": *true' && break
    sleep 1
  done
  sandglass run --json -l python -c 'import platform; print(platform.machine())' >/tmp/answer
  grep -q '"warm": *true' /tmp/answer
  grep -q aarch64 /tmp/answer
  says 'aarch64 3.14159' -l python -c 'import math, platform; print(platform.machine(), round(math.pi, 5))'
}

bash_runs() {
  says aarch64 -l bash -c 'uname -m | tee file; test -s file'
  says 3 -l bash -c 'printf "a\nb\nc\n" | sort -r | wc -l'
}

verdicts() {
  expect 124 -l python -c 'while True: pass' --timeout 2s
  expect 152 -l python -c 'while True: pass' --cpu-time 1s
  expect 137 -l python -c 'x = bytearray(1 << 30)'
  expect 139 -l python -c 'import ctypes; ctypes.string_at(0)'
  # shellcheck disable=SC2016 # for the program's shell
  expect 156 -l python -c 'import os
while True: os.fork()' --pids 20
  expect 153 -l bash -c 'yes'
  expect 154 -l bash -c 'head -c 1G /dev/zero >/tmp/fill'
}

session() {
  local id
  id="$(sandglass session create python)"
  sandglass session run "$id" -c 'n = 41' 2>/dev/null
  [[ $(sandglass session run "$id" -c 'print(n + 1)' 2>/dev/null) == 42 ]]
  sandglass session rm "$id"
}

# Its last line, and all that isn't in force.
doctor() {
  local code=0
  sandglass doctor --quick >/tmp/doctor || code=$?
  grep -E '^ +(missing|not checked) ' /tmp/doctor || true
  tail -n 1 /tmp/doctor
  return "$code"
}

# After it no process and no control group is left.
stop_daemon() {
  local pid left
  pid="$(<"$STATE.pid")"
  kill "$pid"
  for _ in {1..120}; do
    [[ -e /proc/$pid ]] || break
    sleep 0.5
  done
  [[ ! -e /proc/$pid ]]
  sandglassd --sweep --state-dir "$STATE" >/dev/null
  left="$(find /sys/fs/cgroup -type d -name '*sandglass*')"
  [[ -z $left ]] || {
    echo "left behind: $left"
    return 1
  }
}

# From its folder alone.
bundle() {
  unset SANDGLASS_ADDRESS
  cd /srv/sandglass-*-linux-aarch64
  ./sandglass up
  [[ $(./sandglass run -l python -c 'print(6 * 7)' 2>/tmp/words) == 42 ]] || {
    cat /tmp/words
    return 1
  }
  ./sandglass down
}

main() {
  say "kernel $(uname -r), $(uname -m), pages of $(getconf PAGESIZE) bytes, $(nproc) processors"
  # Of programs that take as long as they take.
  export SANDGLASS_TEST_SLOWDOWN=20
  part 'Unit tests of policy' gtest policy_test
  part 'Unit tests of filters' gtest seccomp_test
  part 'Jails' gtest jail_test
  part 'Jails of sessions' gtest session_jail_test
  part 'Jails whose calls are traced' gtest traced_jail_test
  part 'Checking the host' host
  part 'Starting the daemon' start_daemon
  part 'Python, warm' python
  part 'Bash' bash_runs
  part 'Verdicts' verdicts
  part 'A session' session
  part 'Doctor' doctor
  part 'Stopping the daemon' stop_daemon
  compgen -G '/srv/sandglass-*-linux-aarch64' >/dev/null && part 'The bundle' bundle
  # Without a tree of 10,000 levels, for which a call's time is short here.
  part 'Unit tests of sandbox' gtest sandbox_unit_test '-FileAgentTest.RemovesADeepTree'
  say "all: $SECONDS s"
  say "result $failed"
}

run_script "$@"
