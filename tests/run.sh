#!/bin/bash
# Installs what is needed, builds, and runs the project's tests.
#
#   sudo ./tests/run.sh [--nightly] [--fast] [--no-fuzz] [--tidy] [--mutation]
#                       [--asan] [--tsan] [--filter REGEX]
#
#   --nightly       what every change runs, and beside that whole suites and those
#                   in other settings (label nightly, instead of the parts that
#                   have the label part), all workloads, ten minutes of chaos, a
#                   minute for each fuzz target, --tidy, --mutation, --asan, --tsan
#   --fast          leave out the style checks and the fuzz targets
#   --no-fuzz       leave out the fuzz targets, whose build takes ten minutes of
#                   a processor
#   --tidy          also run clang-tidy over every file (half an hour on two
#                   processors, less when files passed before)
#   --mutation      also try whether the unit tests of rooms that decide notice
#                   small changes in them (tests/mutation.py)
#   --asan, --tsan  also build with that sanitizer and run the tests that work
#                   under it
#   --filter REGEX  only the suites of tests whose name matches
#
# A step that fails doesn't keep the others from running, but for the packages and
# the build that all need; the end names each step with its time.
#
# Tests that need something this machine lacks are skipped, and named at the
# end; with SANDGLASS_MUST_RUN=1 (set where CI=true) they fail instead.
set -euo pipefail
source "$(dirname "$0")/../deploy/common.sh"

STARTED=$SECONDS
stages=()  # one line each for the summary
failed_stages=()
skipped=()
total=0
failed=0
reasons=() # of failures, so that they are the last that is read

usage() {
  say "usage: sudo $0 [--nightly] [--fast] [--no-fuzz] [--tidy] [--mutation] [--asan] [--tsan] [--filter REGEX]"
}

# failures_of LOG: what GoogleTest said of each failure of a test, cut short.
failures_of() {
  awk '
    /^\[ RUN      \] / { test = $4 }
    /^[^ ]+:[0-9]+: Failure$/ { rest = 7; print test ":" }
    /^\[  (FAILED|     OK) / || /^--- / { rest = 0 }
    rest > 0 { rest--; print substr($0, 1, 600) }' "$1" | head -n 60
}

# summarise WHAT BINARY_DIR CODE SECONDS: adds a run of ctest to the totals.
summarise() {
  local what=$1 log=$2/logs/ctest.log code=$3 took=$4 closing
  closing="$(grep -E '^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+' "$log" | tail -n 1)" || true
  if [[ $closing =~ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    failed=$((failed + BASH_REMATCH[1]))
    total=$((total + BASH_REMATCH[2]))
  else
    closing='no result'
  fi
  ((code == 0)) || failed_stages+=("$what")
  mapfile -t -O "${#reasons[@]}" reasons < <(failures_of "$log")
  stages+=("$(printf '%-18s %5d s  %s' "$what" "$took" "$closing")")
  # Tests that ctest knows, and those within a suite that is one for it.
  mapfile -t -O "${#skipped[@]}" skipped < <({
    sed -nE "s/^.*Test +#[0-9]+: (.*[^.]) \.*\*\*\*Skipped.*/\1 ${what#tests }/p" "$log"
    sed -nE "s/^\[  SKIPPED \] (.+\..+) \([0-9]+ ms\)$/\1 ${what#tests }/p" \
      "$2/Testing/Temporary/LastTest.log"
  } | sort -u)
}

# run_tests PRESET BINARY_DIR CTEST-OPTION…
run_tests() {
  local preset=$1 dir=$2 log=$2/logs/ctest.log code=0 start=$SECONDS
  shift 2
  say "Testing ($preset)"
  # Three at a time, since many wait; tests that would disturb each other have a
  # lock.
  ctest --test-dir "$dir" --output-on-failure --parallel 3 "$@" 2>&1 |
    tee "$log" | show_tests || code=$?
  summarise "tests ($preset)" "$dir" "$code" $((SECONDS - start))
}

# Lets through what a person wants to see of ctest's output: failures with
# their output, skipped tests, the closing lines. On a terminal the running
# count is shown on one line, elsewhere every 50th test.
show_tests() {
  awk -v tty="$([[ -t 1 ]] && echo 1 || echo 0)" '
    / Test +#[0-9]+:.* Passed +[0-9.]+ sec/ {
      split($1, n, "/")
      if (tty) { printf "\r\033[K%s", $0; fflush(); open = 1 }
      else if (n[1] % 50 == 0) { print; fflush() }
      next
    }
    /^ +Start +[0-9]+: / { next }
    { if (open) { printf "\r\033[K"; open = 0 } print; fflush() }'
}

# step NAME COMMAND…: runs a step, notes its time and whether it failed.
step() {
  local name=$1 start=$SECONDS code=0
  shift
  "$@" || code=1
  stages+=("$(printf '%-18s %5d s' "$name" $((SECONDS - start)))")
  ((code == 0)) || failed_stages+=("$name")
  return "$code"
}

# stage NAME COMMAND…: the same; a failure ends the run.
stage() {
  step "$@" || exit 1
}

# sanitized_tests PRESET CTEST-OPTION…: builds with that sanitizer and runs what can
# run under it: jails are made by raw clone3 with seccomp, which the sanitizers'
# runtimes can't live in.
sanitized_tests() {
  local preset=$1 dir=$SANDGLASS_ROOT/build-$1
  shift
  step "build ($preset)" build_preset "$preset" "$dir" || return 0
  run_tests "$preset" "$dir" \
    --label-exclude '^(jail|e2e|security|bench|style|fuzz)$' "$@"
}

# mutate ROOM BAR: whether the room's unit tests notice at least BAR of a hundred
# small changes in it.
mutate() {
  say "Changing $1"
  nice "$SANDGLASS_ROOT/tests/mutation.py" "$SANDGLASS_ROOT/build" "$1" --bar "$2"
}

finish() {
  local code=$?
  trap - EXIT INT TERM
  set +e
  give_back
  say
  if ((${#stages[@]} > 0)); then printf '%s\n' "${stages[@]}"; fi
  printf '%-18s %5d s\n' 'all' $((SECONDS - STARTED))
  if ((${#skipped[@]} > 0)); then
    say "Skipped, because this machine lacks what they need:"
    printf '  %s\n' "${skipped[@]}"
  fi
  if ((${#failed_stages[@]} > 0)); then
    say "Failed: $(printf '%s, ' "${failed_stages[@]}" | sed 's/, $//')"
    ((code == 0)) && code=1
  fi
  if ((${#reasons[@]} > 0)); then
    say
    printf '%s\n' "${reasons[@]}"
  fi
  # The closing line, in ctest's form, over all the runs above.
  if ((total > 0)); then
    say
    say "$((100 * (total - failed) / total))% tests passed, $failed tests failed out of $total"
  fi
  exit "$code"
}

main() {
  local fast=no fuzz=yes tidy=no asan=no tsan=no mutation=no nightly=no
  local filter=() none=error
  while (($# > 0)); do
    case $1 in
      --nightly) nightly=yes tidy=yes mutation=yes asan=yes tsan=yes ;;
      --fast) fast=yes ;;
      --no-fuzz) fuzz=no ;;
      --tidy) tidy=yes ;;
      --mutation) mutation=yes ;;
      --asan) asan=yes ;;
      --tsan) tsan=yes ;;
      --filter)
        (($# >= 2)) || { usage >&2; exit 2; }
        filter=(--tests-regex "$2")
        none=ignore # a name may exist in one of the builds only
        shift
        ;;
      --help | -h) usage; exit 0 ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  need_root
  need_debian

  if [[ ${CI:-} == true ]]; then
    export SANDGLASS_MUST_RUN="${SANDGLASS_MUST_RUN:-1}"
  fi
  local workloads=$SANDGLASS_ROOT/../shared/workloads
  if [[ -z ${SANDGLASS_WORKLOADS:-} && -d $workloads ]]; then
    SANDGLASS_WORKLOADS="$(cd "$workloads" && pwd)"
    export SANDGLASS_WORKLOADS
  fi

  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM

  stage 'packages' "$SANDGLASS_ROOT/deploy/install-deps.sh" --test
  stage 'build (release)' build_preset release "$SANDGLASS_ROOT/build"
  filter+=("--no-tests=$none")
  local options=("${filter[@]}") without=()
  # Whoever names a test wants it, whatever its tier.
  if [[ $nightly == yes ]]; then
    export SANDGLASS_TIER=nightly SANDGLASS_CHAOS_SECONDS=600 SANDGLASS_FUZZ_SECONDS=60
    ((${#filter[@]} > 1)) || without+=(part) # all of each is run
  elif ((${#filter[@]} == 1)); then
    export SANDGLASS_TIER=change
    without+=(nightly)
  fi
  [[ $fast == no ]] || without+=(style fuzz)
  [[ $fuzz == yes ]] || without+=(fuzz)
  if ((${#without[@]} > 0)); then
    options+=(--label-exclude "^($(IFS='|' && echo "${without[*]}"))$")
  fi
  [[ $tidy == yes ]] || options+=(--exclude-regex '^style\.tidy$')
  run_tests release "$SANDGLASS_ROOT/build" "${options[@]}"

  if [[ $mutation == yes ]]; then
    # What the tests noticed when the bar was set, and less for luck.
    step 'policy/verdict' mutate policy/verdict 95 || true
    step 'server/admission' mutate server/admission 95 || true
  fi
  [[ $asan == no ]] || sanitized_tests asan "${filter[@]}"
  [[ $tsan == no ]] || sanitized_tests tsan "${filter[@]}"
}

main "$@"
