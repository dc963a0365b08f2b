#!/bin/sh
# Talks through `sandglass agent` ($BINARY, $SANDGLASS_ADDRESS) with a model that
# somebody else mocks, in the forms of three providers. In a directory with
# node_modules; prints "ok" at its end.
set -eu
cat >fixtures.json <<'END'
{"fixtures": [
  {"match": {"toolCallId": "call_pi"}, "response": {"content": "Pi was computed."}},
  {"match": {"userMessage": "Pi"}, "response": {"toolCalls": [
    {"id": "call_pi", "name": "run_code",
     "arguments": "{\"language\": \"python\", \"code\": \"import math\\nprint(math.pi)\"}"}]}}
]}
END
port=$(/usr/bin/python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
node_modules/.bin/llmock -p "$port" -f fixtures.json --chunk-size 7 \
  >mock.log 2>&1 &
mock=$!
trap 'kill $mock' EXIT
tries=0
until grep -q listening mock.log; do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || { cat mock.log; exit 1; }
  sleep 0.1
done
export OPENAI_API_KEY=key ANTHROPIC_API_KEY=key NO_PROXY=127.0.0.1
for provider in openai anthropic openai-responses; do
  url=http://127.0.0.1:$port
  [ $provider = anthropic ] || url=$url/v1
  said=$("$BINARY" agent -v --provider $provider --base-url "$url" \
    -m gpt-4o --max-rounds 3 'Compute Pi' 2>&1)
  case $said in
    *3.141592653589793*'Pi was computed.'*) ;;
    *) printf '%s\n' "$provider: $said"; exit 1 ;;
  esac
done
echo ok
