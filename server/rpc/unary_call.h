#ifndef SANDGLASS_SERVER_RPC_UNARY_CALL_H_
#define SANDGLASS_SERVER_RPC_UNARY_CALL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/base/clock.h"
#include "server/identity/caller.h"
#include "server/rpc/answer_room.h"
#include "server/rpc/message_codec.h"
#include "server/rpc/peers.h"

namespace sandglass::server {

// Parts that the methods of all services share. They get their messages as
// bytes, see message_codec.h.

// Returns who calls. If that isn't known, it is an error of ours and is logged.
absl::StatusOr<Caller> CallerOf(const PeerTable& peers,
                                const grpc::CallbackServerContext& context);

// Does the same and parses the message.
absl::StatusOr<Caller> Receive(const PeerTable& peers,
                               const grpc::CallbackServerContext& context,
                               const grpc::ByteBuffer& bytes,
                               google::protobuf::Message& message);

// When the call's answer has to be there; absent when it has no deadline. gRPC
// uses the wall clock for this; from here on it is the monotonic clock.
std::optional<MonotonicTime> DeadlineOf(
    const grpc::CallbackServerContext& context);

// A call that is answered soon. OnDone deletes it.
class AnsweredCall final : public grpc::ServerUnaryReactor {
 public:
  // All arguments must outlive the call.
  AnsweredCall(const PeerTable& peers, const Caller& caller,
               grpc::ByteBuffer* response)
      : caller_(caller.name), held_(peers.answers()), response_(response) {}

  // Call it once.
  void End(absl::StatusOr<grpc::ByteBuffer> answer);

 private:
  void OnDone() override { delete this; }

  const std::string caller_;
  HeldAnswer held_;
  grpc::ByteBuffer* const response_;
};

// Ends a call with a message or an error.
grpc::ServerUnaryReactor* Answer(const PeerTable& peers, const Caller& caller,
                                 grpc::CallbackServerContext* context,
                                 grpc::ByteBuffer* response,
                                 absl::StatusOr<grpc::ByteBuffer> message);
grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                 const absl::Status& status);

template <typename Message>
absl::StatusOr<grpc::ByteBuffer> Serialize(
    const absl::StatusOr<Message>& message) {
  if (!message.ok()) return message.status();
  return SerializeMessage(*message);
}

// Answers with what `method` returns for the caller and the message: a response
// or an error.
template <typename Request, typename Method>
grpc::ServerUnaryReactor* Serve(const PeerTable& peers,
                                grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response,
                                const Method& method) {
  Request message;
  const absl::StatusOr<Caller> caller =
      Receive(peers, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  return Answer(peers, *caller, context, response,
                Serialize(method(*caller, message)));
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_UNARY_CALL_H_
