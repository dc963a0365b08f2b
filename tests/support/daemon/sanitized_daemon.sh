#!/bin/bash
# Stands in for sandglassd in the tests of the real daemon: the daemon of a
# sanitizer's build, with the release build's spawner. The sanitizers' runtimes
# can't live in a spawner or in a jail, but in the daemon they can, which is
# where threads meet.
#
#   cmake --build build-asan --target sandglassd
#   SANDGLASS_TEST_DAEMON=$PWD/build-asan/bin/sanitized_daemon.sh build/bin/sandglass_e2e_test
#
# The build puts a link to it beside sandglassd. What a sanitizer finds is in the
# daemon's log, and in its exit code: at once (asan) or at its end (leaks, tsan).
set -euo pipefail

bin="$(cd "$(dirname "$0")" && pwd)"
clone="$(cd "$bin/../.." && pwd)"

export LSAN_OPTIONS="suppressions=$clone/tests/support/daemon/leaks.supp"
export UBSAN_OPTIONS="print_stacktrace=1"

options=()
[[ " $* " == *' --policy-dir '* ]] || options+=(--policy-dir "$clone/policy/data")
[[ " $* " == *' --spawner '* ]] || options+=(--spawner "$clone/build/bin/sandglass-spawner")
exec "$bin/sandglassd" "$@" "${options[@]}"
