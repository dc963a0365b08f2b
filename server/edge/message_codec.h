#ifndef SANDGLASS_SERVER_EDGE_MESSAGE_CODEC_H_
#define SANDGLASS_SERVER_EDGE_MESSAGE_CODEC_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace sandglass::server {

// Parses what a client sent. gRPC's own parsing answers INTERNAL without a
// reason; this gives INVALID_ARGUMENT that names, by their path, the string
// fields that are not UTF-8, or says that the bytes are no protobuf of that
// type. A field that this version doesn't know, of a client of a later one, is
// refused too, by its number.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes,
                          google::protobuf::Message& message);

// Fails only when there is no memory for the buffer.
absl::StatusOr<grpc::ByteBuffer> SerializeMessage(
    const google::protobuf::Message& message);

// Sends protobuf's own complaints to the log at debug level, since a client
// could otherwise fill the log with them. Call it once, at the start.
void QuietenProtobuf();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_MESSAGE_CODEC_H_
