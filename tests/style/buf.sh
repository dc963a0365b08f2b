#!/bin/bash
# `buf lint` over the public API, and `buf breaking` against what each release
# had (proto/released), so that its clients and daemons go on with ours. buf
# comes as an npm package, in this version, into the build folder.
#
# usage: buf.sh BUILD_DIR [PROTO_DIR]
set -euo pipefail
VERSION=1.47.2

here="$(cd "$(dirname "$0")" && pwd)"
(($# >= 1)) || { echo "usage: $0 BUILD_DIR [PROTO_DIR]" >&2; exit 2; }
mkdir -p "$1/tools"
tools="$(cd "$1/tools" && pwd)"
protos="$(cd "${2:-$here/../../proto}" && pwd)"
buf=$tools/node_modules/.bin/buf

install_buf() {
  # Under a lock: two runs of the tests may share a build folder.
  exec 9>"$tools/.lock"
  flock 9
  [[ "$("$buf" --version 2>/dev/null)" == "$VERSION" ]] && return
  npm install --prefix "$tools" --no-save --package-lock=false --no-audit \
    --no-fund --ignore-scripts "@bufbuild/buf@$VERSION" >"$tools/npm.log" 2>&1 || {
    cat "$tools/npm.log" >&2
    echo "buf: npm can't install @bufbuild/buf $VERSION; see above" >&2
    exit 1
  }
}

[[ "$("$buf" --version 2>/dev/null)" == "$VERSION" ]] || install_buf

"$buf" lint "$protos"
released=("$here"/../../proto/released/*.binpb.gz)
for release in "${released[@]}"; do
  "$buf" breaking "$protos" --against "$release"
done

# Proof that bad files are found, under the same configuration.
if (($# == 1)); then
  bad="$(mktemp -d)"
  trap 'rm -rf "$bad"' EXIT
  mkdir -p "$bad/sandglass/v1"
  cp "$protos/buf.yaml" "$bad/"
  cat >"$bad/sandglass/v1/planted.proto" <<'PROTO'
syntax = "proto3";
package sandglass.v1;
message badName { string CamelField = 1; }
PROTO
  found="$("$buf" lint "$bad")" && {
    echo "buf: lint passes a file with a badly named message" >&2
    exit 1
  }
  [[ $found == *badName* && $found == *CamelField* ]] || {
    echo "buf: lint did not name the planted mistakes but said: $found" >&2
    exit 1
  }
  cp -r "$protos"/{google,grpc,sandglass} "$bad/"
  sed -i 's/^  string code = 2;/  string code = 200;/' "$bad/sandglass/v1/run.proto"
  found="$("$buf" breaking "$bad" --against "${released[0]}")" && {
    echo "buf: breaking passes a field that got another number" >&2
    exit 1
  }
  [[ $found == *'field "2" with name "code"'* ]] || {
    echo "buf: breaking did not name the planted mistake but said: $found" >&2
    exit 1
  }
fi
