#!/bin/bash
# Builds Sandglass on a Debian 12 machine, starts it on a private socket and
# runs four small programs through it.
#
#   sudo ./deploy/quickstart.sh [--keep]
#
#   --keep   leave the daemon running, and say how to reach and stop it
set -euo pipefail
source "$(dirname "$0")/common.sh"

BIN=$SANDGLASS_ROOT/build/bin
DEMO=$SANDGLASS_ROOT/deploy/demo
START_SECONDS=60

keep=no
state=''   # this run's private folder
daemon=''  # the pid of the daemon that this run started

usage() {
  say "usage: sudo $0 [--keep]"
}

daemon_runs() {
  [[ -n $daemon ]] && kill -0 "$daemon" 2>/dev/null
}

# Asks the daemon to end, and makes it when it doesn't.
stop_daemon() {
  local signal _
  for signal in TERM TERM KILL; do
    daemon_runs || break
    kill "-$signal" "$daemon" 2>/dev/null || true
    for _ in {1..50}; do
      daemon_runs || break 2
      sleep 0.1
    done
  done
  [[ -n $daemon ]] && wait "$daemon" 2>/dev/null
  daemon=''
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM HUP
  set +e
  stop_daemon
  if [[ -n $state ]]; then
    # The daemon has no right to remove its control groups once it serves.
    [[ -d $state/state ]] && "$BIN/sandglassd" --sweep --state-dir "$state/state" >/dev/null
    rm -rf --one-file-system "$state"
  fi
  give_back
  exit "$code"
}

interrupted() {
  say "${0##*/}: interrupted; run it again to go on where it stopped" >&2
  exit "$1"
}

start_daemon() {
  local address=$1 deadline
  # A process group of its own: Ctrl-C here is for this script, which then
  # stops the daemon.
  setsid "$BIN/sandglassd" --listen "$address" --state-dir "$state/state" \
    >"$state/daemon.log" 2>&1 </dev/null &
  daemon=$!
  deadline=$((SECONDS + START_SECONDS))
  until "$BIN/sandglass" --address "$address" info >/dev/null 2>"$state/info.log"; do
    if ! daemon_runs; then
      tail -n 20 "$state/daemon.log" >&2
      die "the daemon ended while starting; its last words are above"
    fi
    if ((SECONDS >= deadline)); then
      tail -n 20 "$state/daemon.log" "$state/info.log" >&2
      die "the daemon doesn't answer after $START_SECONDS s; its log is above"
    fi
    sleep 0.1
  done
}

run_demos() {
  local address=$1 name code failed=0
  for name in pi factorial fibonacci sum; do
    say
    say "\$ sandglass run deploy/demo/$name.py    # $(sed -n '1s/"""//gp' "$DEMO/$name.py")"
    code=0
    "$BIN/sandglass" --address "$address" run "$DEMO/$name.py" 2>&1 || code=$?
    if ((code != 0)); then
      say "(exit code $code)"
      failed=$((failed + 1))
    fi
  done
  say
  ((failed == 0)) || die "$failed of the 4 programs did not end well; see above"
}

how_to_go_on() {
  if [[ $keep == yes ]]; then
    cat <<TEXT
The daemon keeps running as process $daemon. From $SANDGLASS_ROOT:
  sudo build/bin/sandglass --address $1 run -c 'print(6 * 7)' --lang python
  sudo build/bin/sandglass --address $1 info
Stop it and tidy up:
  sudo kill $daemon; sleep 1
  sudo build/bin/sandglassd --sweep --state-dir $state/state; sudo rm -rf $state
TEXT
    return
  fi
  cat <<'TEXT'
That daemon has done its work and is stopped. Go on with one of your own:
  sudo ./build/bin/sandglass up                  # in the background; down stops it
  cmake --build build --target deb               # or as a service
  sudo apt install ./build/sandglass_*.deb
and from another shell:
  sudo ./build/bin/sandglass run -c 'print(6 * 7)' --lang python
  sudo ./build/bin/sandglass info
TEXT
}

main() {
  while (($# > 0)); do
    case $1 in
      --keep) keep=yes ;;
      --help | -h) usage; exit 0 ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  need_root
  need_debian

  trap clean_up EXIT
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM HUP

  run_waiting "$SANDGLASS_ROOT/deploy/install-deps.sh" --build
  build_preset release "$SANDGLASS_ROOT/build" sandglassd sandglass-spawner sandglass-egress sandglass

  local base=/tmp
  [[ -d /run && -w /run ]] && base=/run
  state="$(mktemp -d "$base/sandglass-quickstart.XXXXXX")"
  # The daemon gives up root after its start and must still reach its socket.
  chmod 711 "$state"
  local address="unix:$state/sandglass.sock"
  start_daemon "$address"
  run_demos "$address"

  if [[ $keep == yes ]]; then
    how_to_go_on "$address"
    disown "$daemon"
    daemon=''
    state=''
  else
    stop_daemon
    how_to_go_on "$address"
  fi
}

main "$@"
