#ifndef SANDGLASS_SERVER_EDGE_UNARY_CALL_H_
#define SANDGLASS_SERVER_EDGE_UNARY_CALL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/base/call_threads.h"
#include "server/base/clock.h"
#include "server/edge/answer_room.h"
#include "server/edge/grpc_status.h"
#include "server/edge/message_codec.h"
#include "server/edge/peers.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// Parts that the methods of all services share. They get their messages as
// bytes, see message_codec.h.

// Short names for what gRPC passes to each method and gets back.
using Bytes = grpc::ByteBuffer;
using CallContext = grpc::CallbackServerContext;
using UnaryReactor = grpc::ServerUnaryReactor;
using ReadReactor = grpc::ServerReadReactor<Bytes>;
using WriteReactor = grpc::ServerWriteReactor<Bytes>;
using BidiReactor = grpc::ServerBidiReactor<Bytes, Bytes>;

// Returns who calls the method with this request, and whether that caller may.
// UNAUTHENTICATED and PERMISSION_DENIED as Credentials has them.
absl::StatusOr<Identity> CallerOf(const PeerTable& peers,
                                  const CallContext& context,
                                  const google::protobuf::Descriptor* request);
template <typename Request>
absl::StatusOr<Identity> CallerOf(const PeerTable& peers,
                                  const CallContext& context) {
  return CallerOf(peers, context, Request::descriptor());
}

// Does the same and parses the message.
absl::StatusOr<Identity> Receive(const PeerTable& peers,
                                 const CallContext& context, const Bytes& bytes,
                                 google::protobuf::Message& message);

// When the call's answer has to be there; absent when it has no deadline. gRPC
// uses the wall clock for this; from here on it is the monotonic clock.
std::optional<MonotonicTime> DeadlineOf(const CallContext& context);

// A call with one answer that comes later. OnDone deletes it.
class AnsweredCall final : public UnaryReactor {
 public:
  // `peers` and `response` must outlive the call. `on_cancel` is called when
  // the client goes away before the call has ended; it may be null.
  AnsweredCall(const PeerTable& peers, const Identity& caller, Bytes* response,
               std::function<void()> on_cancel = nullptr)
      : caller_(caller.name),
        held_(peers.answers()),
        response_(response),
        on_cancel_(std::move(on_cancel)) {}

  // Call one of these, once. EndOn ends the call with what `work` returns on a
  // thread of `threads`; `key` and `bytes` are as for CallThreads::Add.
  void End(absl::StatusOr<Bytes> answer);
  void EndOn(CallThreads& threads, const CallKey& key, uint64_t bytes,
             std::function<absl::StatusOr<Bytes>()> work);

 private:
  void OnCancel() override {
    if (on_cancel_) on_cancel_();
  }
  void OnDone() override { delete this; }

  const std::string caller_;
  HeldAnswer held_;
  Bytes* const response_;
  const std::function<void()> on_cancel_;
};

// A stream that ends before it began. OnDone deletes it.
template <typename Reactor>
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const absl::Status& status) {
    this->Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

// Ends a call with a message or an error.
UnaryReactor* Answer(const PeerTable& peers, const Identity& caller,
                     CallContext* context, Bytes* response,
                     absl::StatusOr<Bytes> message);
UnaryReactor* Refuse(CallContext* context, const absl::Status& status);

template <typename Message>
absl::StatusOr<Bytes> Serialize(const absl::StatusOr<Message>& message) {
  if (!message.ok()) return message.status();
  return SerializeMessage(*message);
}
inline absl::StatusOr<Bytes> Serialize(
    const google::protobuf::Message& message) {
  return SerializeMessage(message);
}

// Answers with what `method` returns for the caller and the message: a response
// or an error.
template <typename Request, typename Method>
UnaryReactor* Serve(const PeerTable& peers, CallContext* context,
                    const Bytes* request, Bytes* response,
                    const Method& method) {
  Request message;
  const absl::StatusOr<Identity> caller =
      Receive(peers, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  return Answer(peers, *caller, context, response,
                Serialize(method(*caller, message)));
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_UNARY_CALL_H_
