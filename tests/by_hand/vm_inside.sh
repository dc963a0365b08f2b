#!/bin/bash
# What tests/by_hand/vm.sh runs inside its machine, as root, from the project's
# directory there. Each line for people begins with "VM: ".
#
#   tests/by_hand/vm_inside.sh HOST-SECONDS FILTER…   the checks; HOST-SECONDS is what
#                      the workload took outside, each FILTER is for gtest. The
#                      second time, which is after a boot, those of the package
#   tests/by_hand/vm_inside.sh workload   runs the workload, prints its processor time
set -euo pipefail
source "${0%/*}/parts.sh"
source "${0%/*}/vm_package.sh"

TESTS=("$PWD"/build/bin/sandglass_{e2e,exec,durable,security}_test)
PROGRAMS=$PWD/tests/conformance
PREPARE_SECONDS=1800
# What is kept over the boot.
STAGE=/var/lib/vm-check

# What emulation slows down most, code that runs once, and a loop. The compiler's
# own driver, headers and passes are the code.
workload() {
  local TIMEFORMAT='%U %S'
  { time {
    g++ -x c++ -std=gnu++20 -O2 -S -o /dev/null - <<<'#include <iostream>' &&
      python3 -c 'for i in range(1_000_000): pass'
  }; } 2>&1 | awk '{print $1 + $2}'
}

log_of_service() {
  journalctl -b -u sandglassd.service -o cat --no-pager
}

# Not by grep -q: it goes at the first match, and journalctl's death by SIGPIPE
# would be the answer.
log_says() { [[ $(log_of_service) == *"$1"* ]]; }

# Ends when the service has said of every language that is prepared how that went.
first_start() {
  local start=$SECONDS file language code=0
  echo "whoever asks for Java now is told:"
  sandglass run -l java "$PROGRAMS/java/hello.java" 2>&1 | cut -c1-200 || true
  for file in policy/data/languages/*.json; do
    grep -q '^  "prepare":' "$file" || continue
    language="$(basename "$file" .json)"
    until log_of_service | grep -E " (prepared|language_not_prepared) lang=$language "; do
      ((SECONDS - start < PREPARE_SECONDS)) || return 1
      sleep 2
    done
  done
  ! log_says ' language_not_prepared ' || code=1
  log_of_service | grep -E ' (language|language_probe_failed|languages_slow) ' || true
  return "$code"
}

host() {
  /usr/sbin/sandglassd --check | sed '1,/^ *}$/d'
}

second_start() {
  local start=$SECONDS
  systemctl restart sandglassd.service
  echo "active after $((SECONDS - start)) s"
  sandglass info | sed '/^Profiles/,$d'
  # Of each language but those still being prepared it has been tried by then.
  until sandglass status >/dev/null; do
    ((SECONDS - start < PREPARE_SECONDS)) || break
    sleep 2
  done
  sandglass status
}

hello_in_every_language() {
  local folder output bad=0
  for folder in "$PROGRAMS"/*/; do
    [[ -f ${folder}not_applicable.txt ]] || continue
    # Its 60 s and two processors leave emulation some room.
    output="$(sandglass run --profile large -l "$(basename "$folder")" "$(find "$folder" -name 'hello.*')" 2>&1)" || true
    [[ $output == 'Hello, world!'* ]] && continue
    echo "$folder: $output"
    bad=1
  done
  return "$bad"
}

limits_of_the_service() {
  expect 124 -l python -c 'while True: pass' --timeout 1s
  expect 152 -l python -c 'while True: pass' --cpu-time 1s
  expect 124 -l bash -c 'sleep 60' --timeout 1s
  expect 137 -l python -c 'x = bytearray(1 << 30)'
  # shellcheck disable=SC2016 # for the program's shell
  expect 156 -l python -c 'import os
while True: os.fork()' --pids 20
  expect 153 -l bash -c 'yes'
  expect 154 -l bash -c 'head -c 1G /dev/zero >/tmp/fill'
}

uptime_seconds() { cut -d. -f1 /proc/uptime; }

# warm_run LANGUAGE CODE: whether a run of it found its jail ready.
warm_run() {
  sandglass run --json -l "$1" -c "$2" | grep -q '"warm": *true'
}

# The wall clock is set an hour ahead, and back, while two runs sleep and
# interpreters wait: no run ends of it, a limit is as long as before, and pools
# are filled again.
clock_jumps() {
  local jump pid start took limited slept bad=0
  pid="$(systemctl show -P MainPID sandglassd.service)"
  for jump in '+1 hour' '-1 hour'; do
    start=$(uptime_seconds)
    timeout 300 sandglass run --profile large -l bash -c 'echo started; sleep 30; echo slept' >/tmp/slept &
    slept=$!
    timeout 300 sandglass run --profile large -l bash -c 'echo started; sleep 86400' --timeout 20s >/tmp/limited &
    limited=$!
    until grep -q started /tmp/slept && grep -q started /tmp/limited; do
      (($(uptime_seconds) - start < 60)) || break
      sleep 0.1
    done
    date -s "$jump" >/dev/null
    wait "$limited" && took=0 || took=$?
    ((took == 124)) || { echo "$jump: exit code $took of the run with a limit"; bad=1; }
    took=$(($(uptime_seconds) - start))
    echo "$jump: the limit of 20 s came after $took s"
    ((took >= 20)) || bad=1
    wait "$slept" || { echo "$jump: exit code $? of the run that slept"; bad=1; }
    grep -q slept /tmp/slept || bad=1
    for _ in {1..6}; do sandglass run -l python -c 'print(1)' >/dev/null || bad=1; done
    sleep 20
    warm_run bash true || { echo "$jump: no jail is ready"; bad=1; }
    warm_run python 'print(1)' || { echo "$jump: no Python is ready"; bad=1; }
  done
  echo "times that the daemon saw it: $(log_of_service | grep -c ' clock_set')"
  (($(log_of_service | grep -c ' clock_set') == 2)) || bad=1
  [[ $(systemctl show -P MainPID sandglassd.service) == "$pid" ]] || { echo 'the daemon ended'; bad=1; }
  return "$bad"
}

# counted_on SESSION N: whether a cell of the session has N as its count.
counted_on() {
  local said
  said="$(sandglass session run "$1" -c 'n += 1; print("count", n)' 2>/tmp/words)" || true
  [[ $said == "count $2" ]] || {
    echo "$1: $said $(cat /tmp/words)"
    return 1
  }
}

# Sessions that wait half an hour for their next use, while the wall clock is
# set an hour ahead and back: none expires, cells keep their state. Then the
# daemon is killed just after it was set, and files that are kept are there.
sessions_and_the_clock() {
  local etc=/etc/sandglass session kept plain main jump
  cp -r /usr/share/sandglass/policy "$etc/"
  sed 's/"session_files": "memory"/"session_files": "durable"/' "$etc/policy/profiles/default.json" >"$etc/policy/profiles/kept.json"
  mv "$etc/sandglassd.json" "$etc/as-installed"
  echo '{"policy_dir": "/etc/sandglass/policy", "sessions": {"durable_dir": "/var/lib/sandglass/sessions"}}' >"$etc/sandglassd.json"
  systemctl restart sandglassd.service
  # What is prepared belongs to a directory of policy.
  for _ in {1..300}; do
    sandglass run -l python -c 'print(1)' >/dev/null 2>&1 && break
    sleep 1
  done
  kept="$(sandglass session create python --profile kept --idle-timeout 30m --max-age 50m)"
  plain="$(sandglass session create python --idle-timeout 30m --max-age 50m)"
  for session in "$kept" "$plain"; do
    sandglass session run "$session" -c 'n = 0; _ = open("note", "w").write("kept")'
  done
  date -s '+1 hour' >/dev/null
  counted_on "$kept" 1
  counted_on "$plain" 1
  date -s '-1 hour' >/dev/null
  counted_on "$kept" 2
  counted_on "$plain" 2
  for jump in '+1 hour' '-1 hour'; do
    date -s "$jump" >/dev/null
    sleep 5 # for the daemon to write down what that means
    main="$(systemctl show -P MainPID sandglassd.service)"
    # The daemon itself; its supervisor starts it again.
    kill -KILL "$(tr -d ' ' <"/proc/$main/task/$main/children")"
    for _ in {1..600}; do
      sandglass session get "$kept" note - 2>/tmp/words | grep -qx kept && break
      sleep 0.1
    done
    echo "$jump, killed: $(sandglass session list | grep -c "$kept") session, $(sandglass session get "$kept" note - | wc -c) bytes"
    [[ $(sandglass session get "$kept" note -) == kept ]]
    # Of the kernel nothing is left, and the session of memory is gone.
    if counted_on "$kept" 3 >/dev/null || counted_on "$plain" 3 >/dev/null; then return 1; fi
  done
  sandglass session rm "$kept"
  mv "$etc/as-installed" "$etc/sandglassd.json"
  rm -r "$etc/policy"
  systemctl restart sandglassd.service
}

# A jail of the service as the machine sees it. All else is in the posture tests.
jail_of_the_service() {
  local pid status group key file
  sandglass run -l bash -c 'exec sleep 86400' --timeout 30s >/dev/null 2>&1 &
  for _ in {1..100}; do
    pid="$(grep -lsa '^sleep.86400' /proc/[0-9]*/cmdline | cut -d/ -f3)" || true
    [[ -z $pid ]] || break
    sleep 0.2
  done
  status="$(cat "/proc/$pid/status")"
  group="$(cut -d: -f3 "/proc/$pid/cgroup")"
  grep -E '^(Uid|Gid|Cap[A-Z][a-z]*|NoNewPrivs|Seccomp|Seccomp_filters):' <<<"$status" | tr '\t' ' '
  echo "uid_map $(tr -s ' ' <"/proc/$pid/uid_map" | tr '\n' ';')"
  echo "group $group"
  for key in memory.max memory.swap.max memory.peak pids.max pids.peak cpu.max cgroup.kill; do
    file=/sys/fs/cgroup${group%/run}/$key
    if [[ ! -e $file ]]; then
      echo "$key: this kernel has none"
    elif [[ $key != cgroup.kill ]]; then
      echo "$key: $(cat "$file")"
    fi
  done
  kill "$pid"
  wait
  [[ $group == /system.slice/sandglassd.service/* ]]
  (($(grep -cE '^Cap[A-Z][a-z]*:.0{16}$' <<<"$status") == 5))
  grep -qE '^NoNewPrivs:.1$' <<<"$status"
  grep -qE '^Seccomp:.2$' <<<"$status"
}

# lines FILE: how many it has; 0 where it isn't.
lines() { if [[ -e $1 ]]; then wc -l <"$1"; else echo 0; fi; }

# helper NAME: makes a program of the host's that notes that it was started; says
# where it is. It notes that in /run/NAME.
helper() {
  local file=/usr/local/sbin/$1
  rm -f "/run/$1"
  # shellcheck disable=SC2016 # for the program
  printf '#!/bin/sh\necho "$*" >>/run/%s\ncat >/dev/null\n' "$1" >"$file"
  chmod 755 "$file"
  echo "$file"
}

# What kernel.core_pattern names is started for a crash out here, and for none of
# a program.
crashes() {
  local before
  before="$(</proc/sys/kernel/core_pattern)"
  echo "|$(helper crash) %e" >/proc/sys/kernel/core_pattern
  # shellcheck disable=SC2016 # for the programs' shells
  {
    bash -c 'ulimit -c 0; kill -SEGV $$' || true
    expect 139 -l bash -c 'ulimit -c 0; kill -SEGV $$'
    expect 139 --profile large -l cpp -c 'int main() { *(volatile int*)0 = 1; }'
  }
  expect 134 -l python -c 'import os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.abort()'
  expect 134 -l ruby -c 'Process.setrlimit(:CORE, 0, 0); Process.kill(:ABRT, $$); sleep'
  sleep 2
  echo "$before" >/proc/sys/kernel/core_pattern
  cat /run/crash
  (($(lines /run/crash) == 1))
  # A daemon that was allowed no core files at all, but has the right to.
  (
    ulimit -Hc 0
    SANDGLASS_TEST_DAEMON=/usr/sbin/sandglassd \
      "${TESTS[0]}" --gtest_brief=1 --gtest_filter='Inside.TheLimitOfCoreFiles*'
  )
}

# One that can't be executed has this kernel look for a module, as the layer
# says; without kernel.modprobe it has not.
unknown_files() {
  local before after state bad=0
  # shellcheck disable=SC2016 # for the program's shell
  local -a run=(run -l bash -c 'printf "\1\2\3\4" >f; chmod 755 f; for _ in {1..20}; do ./f 2>/dev/null; done; true')
  before="$(</proc/sys/kernel/modprobe)"
  for after in "$(helper search)" ''; do
    echo "$after" >/proc/sys/kernel/modprobe
    rm -f /run/search
    sandglass "${run[@]}"
    state="$({ /usr/sbin/sandglassd --check || true; } | grep -E '^module-search ')"
    echo "kernel.modprobe \"$after\": $(lines /run/search) searches; $state"
    if [[ -e /run/search ]]; then
      [[ $state == *'not available'* ]] || bad=1
    else
      [[ $state == *'in force'* ]] || bad=1
    fi
  done
  [[ ! -e /run/search ]] || bad=1
  echo "$before" >/proc/sys/kernel/modprobe
  return "$bad"
}

# deploy/rootless.sh for somebody with a range of ids and a group of systemd's
# user manager, and no other right.
ordinary_user() {
  local runtime ordinary
  useradd --create-home --shell /bin/bash ordinary
  loginctl enable-linger ordinary
  runtime=/run/user/$(id -u ordinary)
  ordinary=(setpriv --reuid ordinary --regid ordinary --init-groups env "XDG_RUNTIME_DIR=$runtime"
    "SANDGLASS_ADDRESS=unix:$runtime/sandglass/sandglass.sock")
  for _ in {1..600}; do
    [[ -S $runtime/bus ]] && break
    sleep 0.1
  done
  "${ordinary[@]}" deploy/rootless.sh --check | sed -n '/^layer/,$p'
  "${ordinary[@]}" deploy/rootless.sh >/var/log/rootless.log 2>&1 &
  for _ in {1..900}; do
    "${ordinary[@]}" sandglass info >/dev/null 2>&1 && break
    sleep 0.1
  done
  export SANDGLASS_ADDRESS=unix:$runtime/sandglass/sandglass.sock
  limits_of_the_service
  unset SANDGLASS_ADDRESS
  kill $!
  wait $! || true
  # What it has prepared, which is not the package's to purge.
  rm -r "/var/tmp/sandglass-$(id -u ordinary)"
}

# After the stop only systemd's own group of the service may be left.
stop() {
  systemctl stop sandglassd.service
  local left
  left="$(find /sys/fs/cgroup -path '*sandglass*' -type d ! -path '*/system.slice/sandglassd.service')"
  [[ -z $left ]] || {
    echo "left behind: $left"
    return 1
  }
}

# The tests with the installed daemon, and what the service has prepared.
tests() {
  local log=/var/log/tests.log code=0 program
  for program in "${TESTS[@]}"; do
    SANDGLASS_TEST_DAEMON=/usr/sbin/sandglassd \
      "$program" --gtest_filter="$1" || code=$?
  done >"$log" 2>&1
  if ((code == 0)); then
    grep -E '^\[ +OK .*Conformance|^\[  (PASSED|SKIPPED)' "$log" | grep -v '  0 tests' || true
  else
    grep -vE '^\[( RUN |       OK )' "$log" | head -n 400
  fi
  # A filter that finds nothing in any is a success for gtest.
  grep -qE '^\[  PASSED  \] [1-9]' "$log" || code=1
  return "$code"
}

checks_before_the_boot() {
  local filter
  part 'Installing the package' install_package
  part 'Checking the host' host
  part 'First start, with preparation' first_start
  part 'Start with everything prepared' second_start
  part 'Hello in every language' hello_in_every_language
  part 'Limits of the service' limits_of_the_service
  part 'The clock is set' clock_jumps
  part 'Sessions while the clock is set' sessions_and_the_clock
  part 'A jail of the service' jail_of_the_service
  part 'Crashes' crashes
  part 'Files that are no programs' unknown_files
  part 'Stop' stop
  part 'A daemon of an ordinary user' ordinary_user
  use_prepared
  for filter in "$@"; do
    part "Tests $filter" tests "$filter"
  done
}

# What the service has prepared, for the tests' daemons.
use_prepared() {
  mkdir -p build/test-cache
  mount --bind /var/cache/sandglass build/test-cache
}

main() {
  local outside=$1 inside
  shift
  say "kernel $(uname -r), cgroups $(stat -fc %T /sys/fs/cgroup), $(nproc) processors"
  inside="$(workload)"
  SANDGLASS_TEST_SLOWDOWN="$(awk -v i="$inside" -v o="$outside" \
    'BEGIN {f = i / o; r = int(f); print (r < f || r < 1 ? r + 1 : r)}')"
  export SANDGLASS_TEST_SLOWDOWN
  say "workload: $inside s of processor time here, $outside s outside; times of programs are taken times $SANDGLASS_TEST_SLOWDOWN"
  if [[ -d $STAGE ]]; then
    checks_after_the_boot "$1"
  else
    mkdir -p "$STAGE"
    checks_before_the_boot "$@"
  fi
  say "all: $SECONDS s"
  say "result $failed"
}

case ${1:-} in
  workload) workload ;;
  *) run_script "$@" ;;
esac
