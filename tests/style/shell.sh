#!/bin/bash
# Runs shellcheck over the project's shell scripts.
#
# usage: shell.sh [DIR]
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
top="$(cd "${1:-$here/../..}" && pwd)"

list="$(/usr/bin/python3 "$here/list_files.py" "$top" .sh .ci/run)"
# Programs that tests run in jails are inputs, bad habits included.
list="$(grep -vE '^tests/(payloads|conformance)/' <<<"$list" || true)"
[[ -n $list ]] || exit 0
mapfile -t files <<<"$list"
cd "$top"
shellcheck -x "${files[@]}"
