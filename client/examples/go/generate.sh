#!/bin/sh
# Makes the stubs in ./sandglassv1, with protoc (Debian: protobuf-compiler) and the
# two plugins of go.mod.
#
#   client/examples/go/generate.sh [PROTO_DIR]     (default: proto of this clone)
set -eu
cd "$(dirname "$0")"
protos=${1:-../../../proto}
package=sandglass.dev/examples/first_call/sandglassv1

go build -o bin/ google.golang.org/protobuf/cmd/protoc-gen-go \
  google.golang.org/grpc/cmd/protoc-gen-go-grpc

# The .proto files name no Go package, so this says which they are.
options=
for file in "$protos"/sandglass/v1/*.proto; do
  name=sandglass/v1/$(basename "$file")
  options="$options --go_opt=M$name=$package --go-grpc_opt=M$name=$package"
done
# shellcheck disable=SC2086 # one word each
PATH=$PWD/bin:$PATH protoc -I "$protos" $options \
  --go_out=. --go_opt=module=sandglass.dev/examples/first_call \
  --go-grpc_out=. --go-grpc_opt=module=sandglass.dev/examples/first_call \
  "$protos"/sandglass/v1/*.proto
