# shellcheck shell=bash
# What a script inside a machine of tests/by_hand is made of. Source it; it
# changes nothing by itself. The script calls run_script at its end.

# shellcheck disable=SC2034 # for the script, as its result
failed=0

# A line for people, which the script outside shows.
say() { printf 'VM: %s\n' "$*"; }

# part LABEL COMMAND…: one of the script's functions, in a shell of its own that
# ends at the first failure; then a line with its end and its time.
part() {
  local label=$1 start=$SECONDS end=passed
  shift
  "$BASH" "$0" --part "$@" 2>&1 | sed -u 's/^/VM:   /' || {
    end=FAILED
    failed=1
  }
  say "$label: $end, $((SECONDS - start)) s"
}

# expect CODE ARGUMENT…: sandglass run with these arguments exits with CODE.
expect() {
  local wanted=$1 code=0
  shift
  sandglass run "$@" >/dev/null 2>/tmp/words || code=$?
  grep -m 1 -E '^sandglass: [A-Z_]+ after' /tmp/words || true
  ((code == wanted)) || {
    echo "exit code $code instead of $wanted: $*"
    return 1
  }
}

# run_script ARGUMENT…: the script's main, which says its result last, and then
# the machine's end; or one part.
run_script() {
  if [[ ${1:-} == --part ]]; then
    "${@:2}"
    return
  fi
  main "$@" || say 'result error'
  sync
  systemctl poweroff --force
}
