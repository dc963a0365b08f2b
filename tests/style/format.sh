#!/bin/bash
# clang-format over the C++ files of the project; changes nothing.
#
# usage: format.sh [DIR]
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
top="$(cd "${1:-$here/../..}" && pwd)"

# The list first, in a command of its own: a failure to list must not pass for
# an empty list.
list="$(/usr/bin/python3 "$here/list_files.py" "$top" .h .cc .c)"
[[ -n $list ]] || exit 0
mapfile -t files <<<"$list"
cd "$top"
clang-format-14 --style=file --dry-run -Werror "${files[@]}" || {
  echo "format: run clang-format-14 -i on the files named above" >&2
  exit 1
}
