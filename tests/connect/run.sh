#!/bin/bash
# Runs Connect's and gRPC-Web's own clients, unmodified, against a gateway before
# a node, both of which it starts and ends.
#
#   tests/connect/run.sh BUILD_DIR [CLIENT…]
#
#   CLIENT   "go", "node", "python" or "browser"; without any, all of them
#
# The clients' packages come from what go, npm and pip are configured with, in
# the versions that the files beside this one pin, into BUILD_DIR/connect, where
# their code is generated from the .proto files, too; both are made anew when what
# they are made of has changed. A client whose tools or packages this machine
# lacks is skipped, or fails with SANDGLASS_MUST_RUN=1. When all are skipped this
# exits with 77.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
source "$here/../../deploy/common.sh"
need_root

(($# >= 1)) || die "usage: tests/connect/run.sh BUILD_DIR [CLIENT…]"
build="$(cd "$1" && pwd)"
shift
clients=("$@")
(($# > 0)) || clients=(go node python browser)
work=$build/connect
mkdir -p "$work" "$build/logs"

place=''
processes=() # the node, then the gateway
logs=()

# Ends both, which have to end well, and leaves nothing behind.
end() {
  local code=$? i ended
  trap - EXIT INT TERM HUP
  set +e
  for ((i = ${#processes[@]} - 1; i >= 0; --i)); do
    kill -TERM "${processes[i]}" 2>/dev/null
    wait "${processes[i]}"
    ended=$?
    ((ended == 0)) && continue
    tail -n 30 "${logs[i]}" >&2
    say "${logs[i]##*/} ends so; the exit code was $ended" >&2
    ((code == 0)) && code=1
  done
  if [[ -n $place ]]; then
    # What a node that was killed left.
    "$build/bin/sandglassd" --sweep --state-dir "$place/state" >/dev/null 2>&1
    rm -rf "$place"
  fi
  exit "$code"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# generate PROTOC-ARGUMENT… FILE…: files by their paths in proto/.
generate() {
  (cd "$SANDGLASS_ROOT/proto" && protoc -I . "$@")
}
api=("$SANDGLASS_ROOT"/proto/sandglass/v1/*.proto)
api=("${api[@]#"$SANDGLASS_ROOT/proto/"}")
errors=(google/rpc/error_details.proto google/rpc/status.proto)

# What a client is made of, but for its tests.
state_of() {
  {
    cat "$here/run.sh" "$SANDGLASS_ROOT"/proto/sandglass/v1/*.proto
    case $1 in
      go) go version && cat "$here"/go/go.* ;;
      node) node --version && cat "$here"/node/package*.json ;;
      python) /usr/bin/python3 --version && cat "$here/python/requirements.txt" ;;
    esac
  } | sha256sum
}

# go/go.mod calls the module as the .proto files call its packages.
install_go() {
  mkdir -p "$work/go/bin" &&
    cp "$here"/go/go.* "$work/go" &&
    (cd "$work/go" &&
      go build -o bin google.golang.org/protobuf/cmd/protoc-gen-go \
        connectrpc.com/connect/v2/cmd/protoc-gen-connect-go) &&
    PATH=$work/go/bin:$PATH generate \
      --go_out="$work/go" --go_opt=module=sandglass \
      --connect-go_out="$work/go" --connect-go_opt=module=sandglass "${api[@]}"
}

install_node() {
  mkdir -p "$work/node/gen" &&
    cp "$here"/node/package*.json "$work/node" &&
    npm --prefix "$work/node" ci --ignore-scripts --no-audit --no-fund &&
    generate --plugin="$work/node/node_modules/.bin/protoc-gen-es" \
      --es_out="$work/node/gen" --es_opt=target=js,import_extension=js \
      "${api[@]}" "${errors[@]}"
}

install_python() {
  /usr/bin/python3 -m venv "$work/python" &&
    "$work/python/bin/pip" install --quiet --disable-pip-version-check \
      -r "$here/python/requirements.txt" &&
    mkdir -p "$work/python/gen" &&
    PATH=$work/python/bin:$PATH generate --py_out="$work/python/gen" \
      --connectrpc_out="$work/python/gen" "${api[@]}" "${errors[@]}"
}

# install CLIENT: whether it is there now.
install() {
  local client=$1 state log=$build/logs/connect-$1.log
  state="$(state_of "$client")"
  [[ -f $work/$client/made_of && "$(<"$work/$client/made_of")" == "$state" ]] &&
    return 0
  rm -rf "${work:?}/$client"
  if ! "install_$client" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    return 1
  fi
  printf '%s' "$state" >"$work/$client/made_of"
}

# What a client needs that no registry has.
tools_of() {
  case $1 in
    go) say protoc go ;;
    node) say protoc node npm ;;
    browser) say protoc node npm chromium ;;
    python) say protoc ;;
    *) die "there is no client '$1'; there are go, node, python and browser" ;;
  esac
}

free_port() {
  /usr/bin/python3 -c 'import socket
taken = socket.create_server(("127.0.0.1", 0))
print(taken.getsockname()[1])'
}

# wait_for LOG WORDS PROCESS
wait_for() {
  local i
  for ((i = 0; i < 1200; ++i)); do
    ! grep -q "$2" "$1" || return 0
    kill -0 "$3" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 20 "$1" >&2
  die "no \"$2\" in the log above"
}

start() {
  local sandglass=$build/bin/sandglass certs node_port gateway_port user=''
  place="$(mktemp -d -t sandglass-connect-XXXXXX)"
  chmod 755 "$place"
  mkdir -m 700 "$place/tokens" "$place/tmp"
  touch "$place/node.log" "$place/gateway.log"
  certs=$place/certs
  "$sandglass" cert init --dir "$certs" --host 127.0.0.1 >/dev/null
  "$sandglass" cert client gateway --dir "$certs" --tenant gateways >/dev/null
  node_port="$(free_port)"
  gateway_port="$(free_port)"
  page_port="$(free_port)"
  # Ids that no other daemon of the tests has, as tests/python/conftest.py has it.
  getent passwd sandglass >/dev/null || user='"user": "1879048191:1879048191",'
  cat >"$place/node.json" <<NODE
{
  "node_name": "one", "canaries": false, $user
  "uid_base": $((1879048192 + (1 + $$ * 8 % 15999) * 131072)),
  "libraries": {"dir": "$place/libraries"},
  "listen": ["unix:$place/node.sock", "tls:127.0.0.1:$node_port"],
  "tls": {"certificate": "$certs/server.pem", "key": "$certs/server.key",
          "client_ca": "$certs/ca.pem", "client_certificates": "required"},
  "identity": {"gateways": ["spiffe://sandglass/gateways/*"]}
}
NODE
  cat >"$place/gateway.json" <<GATEWAY
{
  "listen": ["tls:127.0.0.1:$gateway_port"], "socket": "$place/gateway.sock",
  "tls": {"certificate": "$certs/server.pem", "key": "$certs/server.key"},
  "identity": {"tokens_dir": "$place/tokens"},
  "nodes": {"addresses": ["127.0.0.1:$node_port"], "ca": "$certs/ca.pem",
            "certificate": "$certs/gateway.pem", "key": "$certs/gateway.key"},
  "http": {"cors_origins": ["http://127.0.0.1:$page_port"]},
  "drain_timeout": "2s"
}
GATEWAY
  "$build/bin/sandglassd" --config "$place/node.json" \
    --state-dir "$place/state" --cache-dir "$build/test-cache" \
    --policy-dir "$SANDGLASS_ROOT/policy/data" \
    </dev/null >"$place/node.log" 2>&1 &
  processes+=($!)
  logs+=("$place/node.log")
  wait_for "$place/node.log" 'listening on address' $!
  "$build/bin/sandglass-gateway" --config "$place/gateway.json" \
    </dev/null >"$place/gateway.log" 2>&1 &
  processes+=($!)
  logs+=("$place/gateway.log")
  wait_for "$place/gateway.log" node_there $!
  export SANDGLASS_TEST_GATEWAY=https://127.0.0.1:$gateway_port
  export SANDGLASS_TEST_CA=$certs/ca.pem
  export SANDGLASS_TEST_CERTIFICATE=$certs/server.pem
  export SANDGLASS_TEST_PAGE_PORT=$page_port
  SANDGLASS_TEST_TOKEN="$("$sandglass" --address "unix:$place/gateway.sock" \
    token create --tenant team 2>/dev/null)"
  export SANDGLASS_TEST_TOKEN
}

run_client() {
  export TMPDIR=$place/tmp
  case $1 in
    go)
      cp "$here"/go/*_test.go "$work/go"
      (cd "$work/go" && go test -count=1 .)
      ;;
    node)
      cp "$here"/node/*.mjs "$work/node"
      (cd "$work/node" && NODE_EXTRA_CA_CERTS=$SANDGLASS_TEST_CA node --test \
        --test-reporter=spec client_test.mjs)
      ;;
    browser)
      cp "$here"/node/*.mjs "$work/node"
      (cd "$work/node" && node_modules/.bin/esbuild page.mjs --bundle --format=esm \
        --log-level=warning --outfile=page.js &&
        node --test --test-reporter=spec browser_test.mjs)
      ;;
    python)
      PYTHONPATH=$work/python/gen "$work/python/bin/python" -m pytest -q \
        -p no:cacheprovider "$here/python"
      ;;
  esac
}

failed=()
ready=()
skip() {
  if [[ ${SANDGLASS_MUST_RUN:-} == 1 ]]; then failed+=("$1"); fi
  say "$1: skipped: $2"
}
for client in "${clients[@]}"; do
  missing=()
  for tool in $(tools_of "$client"); do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  if ((${#missing[@]} > 0)); then
    skip "$client" "no ${missing[*]} here"
  elif ! install "${client/browser/node}"; then
    skip "$client" 'its packages could not be installed'
  else
    ready+=("$client")
  fi
done
if ((${#ready[@]} > 0)); then
  start
  for client in "${ready[@]}"; do
    say "== $client"
    run_waiting run_client "$client" || failed+=("$client")
  done
fi
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
((${#ready[@]} > 0)) || exit 77
