# shellcheck shell=bash
# Shared by the project's scripts: messages, package lists, long steps with
# progress, builds.
# Source it; it changes nothing by itself.

# The top of the clone.
SANDGLASS_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

say() { printf '%s\n' "$*"; }

# Prints one line that says what is wrong and what to do, and ends the script.
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

need_root() {
  ((EUID == 0)) || die "this needs root (namespaces, cgroups, packages); run: sudo $0"
}

# The releases for which packages are named.
DEBIANS='12 13'

# What this system is, such as "debian 12".
system_name() {
  local id='' version=''
  if [[ -r /etc/os-release ]]; then
    # shellcheck source=/dev/null
    id="$(. /etc/os-release && printf '%s' "${ID:-}")"
    # shellcheck source=/dev/null
    version="$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")"
  fi
  printf '%s' "${id:-unknown} $version"
}

# Sets `debian` to the release.
need_debian() {
  local name
  name="$(system_name)"
  debian=${name#debian }
  [[ $name == "debian $debian" && " $DEBIANS " == *" $debian "* ]] ||
    die "this is '$name', and packages are named for Debian ${DEBIANS/ / and } here; a bundle runs on any Linux with glibc 2.36 (docs/packaging.md), and the Dockerfile builds one anywhere"
}

# Python's libraries for tables, statistics, charts and models, and a font that
# has Chinese characters (docs/data-analysis.md).
# shellcheck disable=SC2034 # for those that source this
SCIENCE_PACKAGES=(
  fonts-wqy-microhei
  libopenblas0-pthread
  python3-matplotlib
  python3-numpy
  python3-pandas
  python3-scipy
  python3-seaborn
  python3-sklearn
  python3-sympy
)

# language_packages [ID…]: the Debian packages that the languages' files name;
# without arguments those of all languages. Sorted.
language_packages() {
  local files
  files="$(_language_files "$@")" || return
  xargs -d '\n' sed -n 's/^  "package": "\(.*\)",\{0,1\}$/\1/p' <<<"$files" |
    sort -u
}

# library_packages [ID…]: likewise those with what installs the languages'
# libraries.
library_packages() {
  local files
  files="$(_language_files "$@")" || return
  xargs -d '\n' sed -n \
    '/^  "libraries": {/,/^  }/s/^    "package": "\(.*\)",\{0,1\}$/\1/p' \
    <<<"$files" | tr ' ' '\n' | sort -u
}

_language_files() {
  local id
  for id in "$@"; do
    [[ -f $SANDGLASS_ROOT/policy/data/languages/$id.json ]] ||
      die "there is no language '$id'; there are: $(language_ids)"
    say "$SANDGLASS_ROOT/policy/data/languages/$id.json"
  done
  (($#)) || printf '%s\n' "$SANDGLASS_ROOT"/policy/data/languages/*.json
}

# All languages, separated by blanks.
language_ids() {
  local file ids=()
  for file in "$SANDGLASS_ROOT"/policy/data/languages/*.json; do
    ids+=("$(basename "$file" .json)")
  done
  say "${ids[*]}"
}

# Reads a command's output, keeps it in the file $2 and shows on one line that
# the step $1 is going on. Ignores Ctrl-C so that the command decides how to end.
_follow() {
  local label=$1 log=$2 start=$SECONDS next=$((SECONDS + 20)) line='' part='' status
  trap '' INT
  : >"$log"
  while true; do
    status=0
    IFS= read -r -t 1 part || status=$?
    line+=$part
    if ((status == 0)); then
      printf '%s\n' "$line" >>"$log"
      last=$line
      line=''
    elif ((status <= 128)); then
      [[ -n $line ]] && printf '%s\n' "$line" >>"$log"
      break
    fi
    if [[ -t 1 ]]; then
      printf '\r\033[K%s … %d s  %.*s' "$label" $((SECONDS - start)) 50 "${last:-}"
    elif ((SECONDS >= next)); then
      printf '%s … %d s  %.60s\n' "$label" $((SECONDS - start)) "${last:-}"
      next=$((SECONDS + 20))
    fi
  done
  [[ -t 1 ]] && printf '\r\033[K'
  return 0
}

# Ends what run_waiting waits for, then lets the signal $1 do what it did before.
_end_waiting() {
  if [[ -n $_waiting ]]; then
    kill -TERM -- "-$_waiting" 2>/dev/null || true
    wait "$_waiting" 2>/dev/null || true
  fi
  trap - INT TERM HUP
  eval "$traps"
  kill -s "$1" "$BASHPID"
}

# run_waiting COMMAND…: runs the command in a process group of its own and
# returns its exit code. A signal to the script ends that group at once; in the
# foreground it would wait for the command to end by itself.
run_waiting() {
  local code=0 traps _waiting=''
  traps="$(trap -p INT TERM HUP)"
  trap '_end_waiting INT' INT
  trap '_end_waiting TERM' TERM
  trap '_end_waiting HUP' HUP
  set -m
  "$@" &
  _waiting=$!
  set +m
  wait "$_waiting" || code=$?
  trap - INT TERM HUP
  eval "$traps"
  return "$code"
}

_write_to() {
  local out=$1
  shift
  "$@" >&"$out" 2>&1 </dev/null
}

# run_step LABEL LOG COMMAND…: runs the command with its output in LOG. Shows
# progress, then one line with the time it took. When the command fails, shows
# the end of its output and returns its exit code.
run_step() {
  local label=$1 log=$2 start=$SECONDS code=0 out follower
  shift 2
  mkdir -p "$(dirname "$log")"
  exec {out}> >(_follow "$label" "$log")
  follower=$!
  run_waiting _write_to "$out" "$@" || code=$?
  exec {out}>&-
  wait "$follower" || true
  if ((code != 0)); then
    # Without the build's progress, and with link commands cut.
    grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" | cut -c1-300 | tail -n 40 >&2 || true
    printf '%s: failed (exit %d) after %d s; all of its output: %s\n' \
      "$label" "$code" $((SECONDS - start)) "$log" >&2
    return "$code"
  fi
  printf '%s: done in %d s\n' "$label" $((SECONDS - start))
}

# How many compilers fit: one for each CPU, and 1.5 GB of free memory for each.
parallel_jobs() {
  local cpus free_kb by_memory
  cpus=$(nproc)
  free_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  by_memory=$((${free_kb:-0} / 1500000))
  ((by_memory < 1)) && by_memory=1
  echo $((cpus < by_memory ? cpus : by_memory))
}

# build_preset PRESET BINARY_DIR [TARGET…]: configures and builds a preset.
build_preset() {
  local preset=$1 dir=$2 targets=() fresh=() named=() compiler
  shift 2
  (($# == 0)) || targets=(--target "$@")
  compiler="$(cmake -S "$SANDGLASS_ROOT" --preset "$preset" -N |
    sed -nE 's/^ *CMAKE_CXX_COMPILER="(.*)"$/\1/p')"
  # Later releases than Debian 12 have another clang, and a gcc that does.
  if [[ -n $compiler ]] && ! command -v "$compiler" >/dev/null; then
    compiler=g++
    named=(-D CMAKE_CXX_COMPILER=g++)
  fi
  # CMake takes up another compiler than before only in a fresh start.
  if [[ -n $compiler && -f $dir/CMakeCache.txt ]] &&
    ! grep -Eq "^CMAKE_CXX_COMPILER:[A-Z]+=(.*/)?${compiler//+/\\+}\$" "$dir/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  run_step "Configuring ($preset)" "$dir/logs/configure.log" \
    cmake -S "$SANDGLASS_ROOT" --preset "$preset" "${fresh[@]}" "${named[@]}" || return
  NINJA_STATUS='[%f/%t] ' run_step "Building ($preset)" "$dir/logs/build.log" \
    cmake --build "$dir" --parallel "$(parallel_jobs)" "${targets[@]}"
}

# Gives what was built back to whoever owns the clone, so that a build under
# sudo leaves nothing behind that its owner can't rebuild or delete.
give_back() {
  local owner dir
  owner="$(stat -c %u:%g "$SANDGLASS_ROOT")"
  [[ $owner == 0:0 ]] && return 0
  for dir in "$SANDGLASS_ROOT"/build "$SANDGLASS_ROOT"/build-*; do
    [[ -d $dir ]] && chown -R -h "$owner" "$dir"
  done
  return 0
}
