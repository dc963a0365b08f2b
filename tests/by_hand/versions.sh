#!/bin/bash
# Whether a client of the release before works with this tree's daemon, and the
# other way round: builds that release's two programs from its commit, then runs
# one list of commands with each client and each daemon. By hand.
#
#   sudo tests/by_hand/versions.sh [--build DIR] COMMIT
#
#   COMMIT       the release before, such as its tag
#   --build DIR  where that is built, and found again (default: build/before)
#
# Needs the release build (build/) and root.
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"

before=$SANDGLASS_ROOT/build/before
state=''
daemon=''
wrong=0

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  stop
  [[ -z $state ]] || rm -rf "$state"
  exit "$code"
}

stop() {
  [[ -n $daemon ]] || return 0
  kill "$daemon" 2>/dev/null || true
  wait "$daemon" 2>/dev/null || true
  daemon=''
}

build_before() {
  local tree=$before/tree
  if [[ "$(cat "$before/commit" 2>/dev/null)" != "$1" ]]; then
    rm -rf "$before"
    mkdir -p "$tree"
    git -c safe.directory='*' -C "$SANDGLASS_ROOT" archive "$1" | tar -x -C "$tree"
    printf '%s' "$1" >"$before/commit"
  fi
  SANDGLASS_ROOT=$tree build_preset release "$tree/build" sandglassd sandglass-spawner sandglass-egress \
    sandglass-zygote-python sandglass-zygote-ruby sandglass
}

# start BIN: its daemon, in a state of its own.
start() {
  rm -rf "$state/daemon"
  "$1/sandglassd" --listen "unix:$state/socket" --state-dir "$state/daemon" \
    --config "$state/config.json" >"$state/log" 2>&1 &
  daemon=$!
  local look
  for ((look = 0; look < 300; look++)); do
    "$1/sandglass" --address "unix:$state/socket" info >/dev/null 2>&1 && return
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$state/log" >&2
  die "$1/sandglassd didn't start; its last words are above"
}

# expect WHAT WANTED COMMAND…: that the command prints something with WANTED.
expect() {
  local what=$1 wanted=$2 said
  shift 2
  said="$("$@" 2>&1 </dev/null)" || true
  if [[ $said == *"$wanted"* ]]; then
    say "  ok     $what"
  else
    say "  WRONG  $what: expected \"$wanted\" in: $said"
    wrong=1
  fi
}

try() {
  local client=(timeout 60 "$1/sandglass" --address "unix:$state/socket") id
  expect 'info' 'sandglassd' "${client[@]}" info
  expect 'languages' 'Python' "${client[@]}" languages
  expect 'a run' '42' "${client[@]}" run -l python -c 'print(6 * 7)'
  expect 'an exception' 'NONZERO_EXIT' "${client[@]}" run -l python -c 'raise ValueError(1)'
  expect 'a limit' 'TIMEOUT' "${client[@]}" run -l python --timeout 300ms -c 'while True: pass'
  expect 'memory' 'MEMORY_LIMIT' "${client[@]}" run -l python --memory 64M -c 'x = bytearray(10**9)'
  expect 'a compiler' 'hi' "${client[@]}" run -l cpp -c '#include <cstdio>
int main() { puts("hi"); }'
  expect 'a refused request' 'INVALID_ARGUMENT' "${client[@]}" run -l nothing -c 'x'
  id="$("${client[@]}" session create python 2>/dev/null)" || id=''
  expect 'a session' '' "${client[@]}" session run "$id" -c 'x = 21'
  expect 'its state' '42' "${client[@]}" session run "$id" -c 'x * 2'
  expect 'its files' 'a.txt' "${client[@]}" session exec "$id" -- sh -c 'echo hi >a.txt; ls'
  expect 'sessions' "$id" "${client[@]}" session list
  expect 'its end' '' "${client[@]}" session destroy "$id"
  expect 'runs' 'MEMORY_LIMIT' "${client[@]}" ps
  expect 'status' 'ready' "${client[@]}" status
  expect 'usage' 'uid:' "${client[@]}" usage
}

main() {
  local usage='usage: versions.sh [--build DIR] COMMIT' commit
  if [[ ${1:-} == --build ]]; then
    before=${2:?$usage}
    shift 2
  fi
  (($# == 1)) || die "$usage"
  need_root
  [[ -x $SANDGLASS_ROOT/build/bin/sandglassd ]] ||
    die 'there is no release build; run: cmake --preset release && cmake --build build'
  commit="$(git -c safe.directory='*' -C "$SANDGLASS_ROOT" rev-parse --verify "$1^{commit}")"
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  state="$(mktemp -d /tmp/sandglass-versions.XXXXXX)"
  chmod 755 "$state"
  echo '{"canaries": false}' >"$state/config.json"
  build_before "$commit"
  local old=$before/tree/build/bin new=$SANDGLASS_ROOT/build/bin
  say "The release before as the daemon, this tree's client"
  start "$old"
  try "$new"
  stop
  say "This tree's daemon, the client of the release before"
  start "$new"
  try "$old"
  stop
  ((wrong == 0)) || die 'not all is well; see above'
  say 'Both ways work.'
}

main "$@"
