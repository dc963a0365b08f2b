#ifndef SANDGLASS_SERVER_RPC_MESSAGE_CODEC_H_
#define SANDGLASS_SERVER_RPC_MESSAGE_CODEC_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace sandglass::server {

// Parses what a client sent. gRPC's own parsing answers INTERNAL without a
// word; this gives INVALID_ARGUMENT that names the string fields which are not
// UTF-8 by their path, or says that the message is no such protobuf.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes,
                          google::protobuf::Message& message);

// Fails only when memory for the buffer is lacking.
absl::StatusOr<grpc::ByteBuffer> SerializeMessage(
    const google::protobuf::Message& message);

// Sends protobuf's own complaints to the log at debug level: a client could
// fill the log with them otherwise. Call once at start.
void QuietenProtobuf();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_MESSAGE_CODEC_H_
