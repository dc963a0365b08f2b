#!/bin/bash
# Has Debian's own Prometheus read a daemon's metrics. Prints, each on a line:
#
#   promtool says nothing wrong            of the metrics
#   promtool tries the rules: SUCCESS      with alerts_test.yml
#   rules: N                               that it took, none of which fires
#   up 1
#   QUERY VALUE                            for each further argument
#
#   tests/e2e/operators/prometheus.sh CACHE ADDRESS QUERY…
#
# CACHE is a directory that is kept; what it needs is unpacked there, not
# installed, since that would start a service.
set -euo pipefail
source "$(dirname "$0")/../../../deploy/common.sh"

cache=$1
address=$2
shift 2
work="$(mktemp -d "${TMPDIR:-/tmp}/sandglass-prometheus.XXXXXX")"
prometheus=''

clean_up() {
  [[ -z $prometheus ]] || kill "$prometheus" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap clean_up EXIT

fetch() {
  local got=$work/package packages=(prometheus) package
  # In it up to Debian 12.
  if apt-cache show promtool >"$work/log" 2>&1; then packages+=(promtool); fi
  mkdir -p "$got" "$cache"
  chmod 755 "$work" "$got"
  (cd "$got" && apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}") >"$work/log" 2>&1 ||
    die "can't get ${packages[*]}: $(tail -n 1 "$work/log")"
  for package in "${packages[@]}"; do
    dpkg-deb --extract "$got/$package"_*.deb "$got/tree"
  done
  mv -T "$got/tree" "$cache/prometheus.$$"
  mv -T "$cache/prometheus.$$" "$cache/prometheus" 2>/dev/null || rm -rf "$cache/prometheus.$$"
}

# query TEXT: its first value; empty while there is none.
query() {
  curl -sf --get --data-urlencode "query=$1" "http://$listen/api/v1/query" |
    sed -nE 's/.*"value":\[[0-9.e+]+,"([^"]*)"\].*/\1/p' || true
}

# value TEXT: waits for it.
value() {
  local got=''
  for _ in {1..150}; do
    got="$(query "$1")"
    [[ -z $got ]] || break
    sleep 0.2
  done
  say "$1 ${got:-nothing}"
}

[[ -x $cache/prometheus/usr/bin/prometheus ]] || fetch
bin=$cache/prometheus/usr/bin

curl -sf "http://$address/metrics" >"$work/metrics"
said="$("$bin/promtool" check metrics <"$work/metrics" 2>&1)" || true
# Of other libraries' names, which are conventions of their own.
said="$(grep -v '^grpc_' <<<"$said" || true)"
say "promtool says ${said:-nothing wrong}"

cp "$SANDGLASS_ROOT"/deploy/prometheus/alerts.yml "$SANDGLASS_ROOT/tests/e2e/operators/alerts_test.yml" "$work/"
tried="$("$bin/promtool" test rules "$work/alerts_test.yml" 2>&1)" || true
say "promtool tries the rules: $(sed '1d;s/^ *//' <<<"$tried" | tr '\n' ' ')"

cat >"$work/config.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$SANDGLASS_ROOT/deploy/prometheus/alerts.yml"]
scrape_configs:
  - job_name: sandglass
    static_configs: [{targets: ["$address"]}]
END
# A port that is free now; nobody else takes it within moments.
port="$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
listen=127.0.0.1:$port
"$bin/prometheus" --config.file="$work/config.yml" --storage.tsdb.path="$work/data" \
  --web.listen-address="$listen" >"$work/prometheus.log" 2>&1 &
prometheus=$!
for _ in {1..150}; do
  curl -sf "http://$listen/-/ready" >/dev/null && break
  sleep 0.2
done
say "rules: $(curl -sf "http://$listen/api/v1/rules" | grep -o '"type":"alerting"' | wc -l)"
value 'up{job="sandglass"}'
for text in "$@"; do value "$text"; done
say "alerts: $(curl -sf "http://$listen/api/v1/alerts" | grep -o '"alertname":"[A-Za-z]*"' | sort -u | tr '\n' ' ')"
