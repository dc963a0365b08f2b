#!/bin/bash
# The MCP Inspector's command line against `sandglass mcp`.
#
#   inspector.sh BINARY URL
#
# It is looked for below the working directory; SANDGLASS_ADDRESS names the
# daemon. Prints "ok" at the end.
set -euo pipefail
binary=$1 url=$2

inspect() {
  node_modules/.bin/mcp-inspector --cli "$@"
}

# expect WORDS COMMAND…: the command's output must have the words.
expect() {
  local words=$1 said
  shift
  said="$("$@" 2>&1)" || true
  [[ $said == *"$words"* ]] && return
  printf 'no "%s" in what this says: %s\n%s\n' "$words" "$*" "$said"
  exit 1
}

# check SERVER…: the calls at one server, as the inspector is told of it.
check() {
  expect '"name": "run_code"' inspect "$@" --method tools/list
  expect '42\n' inspect "$@" --method tools/call \
    --tool-name run_code --tool-arg language=python \
    --tool-arg 'code=print(6 * 7)'
  expect '"isError": true' inspect "$@" --method tools/call \
    --tool-name list_files --tool-arg sandbox_id=none
}

check -e "SANDGLASS_ADDRESS=$SANDGLASS_ADDRESS" "$binary" mcp
check "$url" --transport http
echo ok
