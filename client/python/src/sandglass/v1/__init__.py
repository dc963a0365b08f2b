"""The daemon's API as protoc makes it of proto/sandglass/v1: the messages in
`*_pb2`, the calls in `*_pb2_grpc`. For what `sandglass` itself has no name."""
