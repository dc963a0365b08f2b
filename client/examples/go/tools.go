//go:build tools

// Keeps the plugins that generate.sh builds in go.mod, with their versions.
package main

import (
	_ "google.golang.org/grpc/cmd/protoc-gen-go-grpc"
	_ "google.golang.org/protobuf/cmd/protoc-gen-go"
)
