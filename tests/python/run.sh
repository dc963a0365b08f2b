#!/bin/bash
# Runs pytest on tests of the Python package, with a daemon of their own, in a
# virtual environment that is made anew when what goes into it has changed.
#
#   tests/python/run.sh BUILD_DIR GROUP [PYTEST_ARGUMENT…]
#
#   GROUP   "client", "agents" or "gateway": tests/python/GROUP, with the
#           packages that tests/python/GROUP/*.txt name
#
# The packages come from what pip is configured with; where it can't be reached
# this is skipped (77) with pip's words, or fails with SANDGLASS_MUST_RUN=1.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/../../deploy/common.sh"

(($# >= 2)) || die "usage: tests/python/run.sh BUILD_DIR GROUP [PYTEST_ARGUMENT…]"
build="$(cd "$1" && pwd)"
group=$2
shift 2
package=$SANDGLASS_ROOT/client/python
venv=$build/python-$group
log=$build/logs/python-$group.log
mkdir -p "$build/logs"

# Debian's own Python: another on PATH may be anything.
python=/usr/bin/python3
wanted="$({
  "$python" --version
  cat "$here/$group/"*.txt "$package/pyproject.toml" "$package/hatch_build.py"
  grep '^project(' "$SANDGLASS_ROOT/CMakeLists.txt"
  find "$SANDGLASS_ROOT/proto/sandglass" -name '*.proto' -print0 | sort -z | xargs -0 cat
  # The package itself is installed in place, so that its sources need no install.
} | sha256sum)"

install() {
  rm -rf "$venv"
  "$python" -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
      -r "$here/$group/requirements.txt" -e "$package" || return
  # Of these only a part is used, whose needs are above.
  [[ ! -f $here/$group/without_needs.txt ]] ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
      -r "$here/$group/without_needs.txt"
}

if [[ ! -f $venv/wanted || "$(cat "$venv/wanted")" != "$wanted" ]]; then
  if ! install >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    # A package that can't be built is our fault, and no skip.
    if [[ ${SANDGLASS_MUST_RUN:-} != 1 ]] && ! "$python" -m pip download \
      --quiet --no-deps --dest "$(mktemp -d)" six >/dev/null 2>&1; then
      say "skipped: pip can't reach what it is configured with"
      exit 77
    fi
    exit 1
  fi
  printf '%s' "$wanted" >"$venv/wanted"
fi

export SANDGLASS_TEST_BUILD=$build
cd "$here"
exec "$venv/bin/python" -m pytest -p no:cacheprovider -q "$group" "$@"
