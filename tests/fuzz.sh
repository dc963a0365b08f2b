#!/bin/bash
# Builds and runs the libFuzzer targets of tests/fuzz.
#
#   tests/fuzz.sh [--seconds N] [--keep] [TARGET…]
#
#   --seconds N  how long each target goes on after its seeds (default: 3, or
#                SANDGLASS_FUZZ_SECONDS)
#   --keep       keep what it finds of interest, in build-fuzz/found, and begin
#                with that the next time
#
# Without a TARGET all of them run, two at a time. Each has one line: inputs
# tried, places in the code that they reached (cov) and ways through it (ft),
# size of the corpus, seconds. The closing line is in ctest's form.
#
# An input that breaks a target fails it. It is kept in build-fuzz/crashes, and
# the command that runs it again is printed.
set -euo pipefail
source "$(dirname "$0")/../deploy/common.sh"

DIR=$SANDGLASS_ROOT/build-fuzz
SOURCES=$SANDGLASS_ROOT/tests/fuzz
# One input may take so long, on a machine that is busy.
MOST_SECONDS=20
export ASAN_OPTIONS=detect_leaks=1:handle_abort=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

usage() {
  say "usage: $0 [--seconds N] [--keep] [TARGET…]"
}

all_targets() {
  local file
  for file in "$SOURCES"/*_fuzz.cc; do
    basename "$file" _fuzz.cc
  done
}

# The seeds of a target: its own, and the shipped files that it reads as they
# are.
seeds() {
  local target=$1 data=$SANDGLASS_ROOT/policy/data
  [[ -d $SOURCES/corpus/$target ]] && echo "$SOURCES/corpus/$target"
  case $target in
    json) echo "$data/profiles" ;;
    language) echo "$data/languages" ;;
    seccomp) echo "$data/seccomp/sets" ;;
    config) echo "$SANDGLASS_ROOT/deploy" ;;
  esac
}

# run_target TARGET SECONDS KEEP: the target's line; fails when it does.
run_target() {
  local target=$1 seconds=$2 keep=$3 log=$DIR/logs/fuzz-$1.log start=$SECONDS
  local found code=0 crashes=$DIR/crashes/$1- last dirs=()
  if [[ $keep == yes ]]; then
    found=$DIR/found/$target
  else
    found=$(mktemp -d)
  fi
  mkdir -p "$found" "$DIR/crashes"
  mapfile -t dirs < <(seeds "$target")
  local options=(-rss_limit_mb=2048 -timeout="$MOST_SECONDS" -max_len=4096
    -artifact_prefix="$crashes" -print_final_stats=1 -verbosity=1)
  [[ -f $SOURCES/$target.dict ]] && options+=(-dict="$SOURCES/$target.dict")
  # What is kept first, whole; then new inputs for a while.
  { "$DIR/bin/fuzz/$target" "${options[@]}" -runs=0 "$found" "${dirs[@]}" &&
    "$DIR/bin/fuzz/$target" "${options[@]}" -max_total_time="$seconds" \
      "$found" "${dirs[@]}"; } </dev/null >"$log" 2>&1 || code=$?
  last="$(grep -E '^#[0-9]+.* cov: ' "$log" | tail -n 1)" || true
  printf '%-16s %9s runs  cov %5s  ft %6s  corpus %9s  %4d s%s\n' "$target" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)" \
    "$(sed -nE 's/.* cov: ([0-9]+).*/\1/p' <<<"$last")" \
    "$(sed -nE 's/.* ft: ([0-9]+).*/\1/p' <<<"$last")" \
    "$(sed -nE 's/.* corp: ([^ ]+).*/\1/p' <<<"$last")" \
    $((SECONDS - start)) "$( ((code == 0)) || echo '  FAILED')"
  if ((code != 0)); then
    grep -E 'broken: |ERROR: |runtime error: |SUMMARY: ' "$log" | head -n 5 || true
    local input
    input="$(sed -nE 's/.*Test unit written to (.*)/\1/p' "$log" | tail -n 1)"
    say "  all of its output: $log"
    [[ -z $input ]] || say "  again: $DIR/bin/fuzz/$target $input"
  fi
  [[ $keep == yes ]] || rm -rf "$found"
  return "$code"
}

main() {
  local seconds=${SANDGLASS_FUZZ_SECONDS:-3} keep=no targets=() target failed=0 running=() running_names=()
  while (($# > 0)); do
    case $1 in
      --seconds)
        [[ ${2:-} =~ ^[0-9]+$ ]] || { usage >&2; exit 2; }
        seconds=$2
        shift
        ;;
      --keep) keep=yes ;;
      --help | -h) usage; exit 0 ;;
      -*) usage >&2; exit 2 ;;
      *)
        [[ -f $SOURCES/$1_fuzz.cc ]] ||
          die "there is no target '$1'; there are: $(all_targets | tr '\n' ' ')"
        targets+=("$1")
        ;;
    esac
    shift
  done
  ((${#targets[@]} > 0)) || mapfile -t targets < <(all_targets)

  build_preset fuzz "$DIR" "${targets[@]/#/fuzz_}"
  rm -rf "$DIR/crashes"
  # Two at a time: a run's line comes when it and those before it are over.
  while ((${#targets[@]} > 0 || ${#running[@]} > 0)); do
    while ((${#targets[@]} > 0 && ${#running[@]} < 2)); do
      target=${targets[0]}
      targets=("${targets[@]:1}")
      run_target "$target" "$seconds" "$keep" >"$DIR/logs/fuzz-$target.line" &
      running+=($!)
      running_names+=("$target")
      total=$((total + 1))
    done
    wait "${running[0]}" || failed=$((failed + 1))
    cat "$DIR/logs/fuzz-${running_names[0]}.line"
    running=("${running[@]:1}")
    running_names=("${running_names[@]:1}")
  done
  say
  say "$((100 * (total - failed) / total))% tests passed, $failed tests failed out of $total"
  ((failed == 0))
}

total=0
main "$@"
