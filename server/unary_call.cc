#include "server/unary_call.h"

#include <chrono>
#include <optional>
#include <utility>

#include "server/errors.h"
#include "server/log.h"
#include "server/trace_context.h"

namespace sandglass::server {

absl::StatusOr<Caller> CallerOf(const PeerTable& peers,
                                const grpc::CallbackServerContext& context) {
  std::optional<Caller> caller = peers.CallerOf(context.peer());
  if (!caller.has_value()) {
    Log(LogLevel::kError, "unknown_caller", {{"peer", context.peer()}});
    return UnknownCaller();
  }
  caller->trace_id = TraceIdOf(context);
  return *std::move(caller);
}

absl::StatusOr<Caller> Receive(const PeerTable& peers,
                               const grpc::CallbackServerContext& context,
                               const grpc::ByteBuffer& bytes,
                               google::protobuf::Message& message) {
  absl::StatusOr<Caller> caller = CallerOf(peers, context);
  if (!caller.ok()) return caller;
  const absl::Status parsed = ParseMessage(bytes, message);
  // gRPC keeps the request until the call's end, which may be a run's.
  const_cast<grpc::ByteBuffer&>(bytes).Clear();
  if (!parsed.ok()) return parsed;
  return caller;
}

grpc::ServerUnaryReactor* Answer(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response,
    const absl::StatusOr<grpc::ByteBuffer>& message) {
  if (message.ok()) *response = *message;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(message.status()));
  return reactor;
}

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                 const absl::Status& status) {
  return Answer(context, nullptr, status);
}

std::optional<MonotonicTime> DeadlineOf(
    const grpc::CallbackServerContext& context) {
  using Wall = std::chrono::system_clock;
  const Wall::time_point deadline = context.deadline();
  if (deadline == Wall::time_point::max()) return std::nullopt;
  return Monotonic::now() + (deadline - Wall::now());
}

}  // namespace sandglass::server
