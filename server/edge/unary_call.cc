#include "server/edge/unary_call.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/edge/method_access.h"
#include "server/edge/trace_context.h"
#include "server/edge/vouched_caller.h"

namespace sandglass::server {

namespace {

// All values of the call's metadata of that name.
absl::InlinedVector<absl::string_view, 1> MetadataOf(const CallContext& context,
                                                     const char* name) {
  absl::InlinedVector<absl::string_view, 1> values;
  const auto [first, last] = context.client_metadata().equal_range(name);
  for (auto each = first; each != last; ++each) {
    values.emplace_back(each->second.data(), each->second.size());
  }
  return values;
}

absl::StatusOr<Identity> Prove(const PeerTable& peers,
                               const CallContext& context,
                               const Identity& connection) {
  const auto vouched = MetadataOf(context, kCallerMetadata);
  // What anybody else says of callers isn't passed over: it is an attack.
  if (connection.is_gateway || !vouched.empty()) {
    return peers.credentials().Vouch(
        connection, vouched.size() == 1 ? FromCallerMetadata(vouched.front())
                                        : std::nullopt);
  }
  return peers.credentials().Authenticate(connection,
                                          MetadataOf(context, "authorization"));
}

}  // namespace

absl::StatusOr<Identity> CallerOf(const PeerTable& peers,
                                  const CallContext& context,
                                  const google::protobuf::Descriptor* request) {
  const std::optional<Identity> connection =
      peers.CallerOf(PeerTable::PeerOf(context));
  const std::optional<Access> access = AccessOf(request);
  // Either is an error of ours.
  if (!connection.has_value() || !access.has_value()) {
    Log(LogLevel::kError, "unknown_caller",
        {{"peer", context.peer()}, {"request", request->full_name()}});
    return UnknownCaller();
  }
  absl::StatusOr<Identity> caller = Prove(peers, context, *connection);
  if (!caller.ok()) return caller;
  if (absl::Status may = peers.credentials().Authorise(*caller, *access);
      !may.ok()) {
    return may;
  }
  const Credentials::Rules rules = peers.credentials().rules(caller->tenant);
  if (absl::Status may = peers.calls().Admit(context, *caller, rules.streams);
      !may.ok()) {
    return may;
  }
  if (connection->proof == Proof::kNone)
    peers.MarkProved(PeerTable::PeerOf(context));
  caller->trace_id = TraceIdOf(context);
  return caller;
}

absl::StatusOr<Identity> Receive(const PeerTable& peers,
                                 const CallContext& context, const Bytes& bytes,
                                 google::protobuf::Message& message) {
  absl::StatusOr<Identity> caller =
      CallerOf(peers, context, message.GetDescriptor());
  if (!caller.ok()) return caller;
  if (const uint64_t most =
          peers.credentials().rules(caller->tenant).message_bytes;
      bytes.Length() > most) {
    return TenantCeilingTooLow(caller->tenant, "message_bytes", bytes.Length(),
                               most);
  }
  const absl::Status parsed = ParseMessage(bytes, message);
  // Otherwise gRPC keeps the request until the call's end, which may be that of
  // a run.
  const_cast<Bytes&>(bytes).Clear();
  if (!parsed.ok()) return parsed;
  return caller;
}

void AnsweredCall::End(absl::StatusOr<Bytes> answer) {
  Finish(ToGrpcStatus(held_.Put(caller_, std::move(answer), response_)));
}

void AnsweredCall::EndOn(CallThreads& threads, const CallKey& key,
                         uint64_t bytes,
                         std::function<absl::StatusOr<Bytes>()> work) {
  const absl::Status added =
      threads.Add(key, bytes, [this, work = std::move(work)] { End(work()); });
  if (!added.ok()) End(added);
}

UnaryReactor* Answer(const PeerTable& peers, const Identity& caller,
                     CallContext* context, Bytes* response,
                     absl::StatusOr<Bytes> message) {
  if (!message.ok()) return Refuse(context, message.status());
  if (message->Length() > AnswerRoom::kFreeBytes) {
    auto* call = new AnsweredCall(peers, caller, response);
    call->End(std::move(message));
    return call;
  }
  *response = *std::move(message);
  UnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

UnaryReactor* Refuse(CallContext* context, const absl::Status& status) {
  UnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

std::optional<MonotonicTime> DeadlineOf(const CallContext& context) {
  using Wall = std::chrono::system_clock;
  const Wall::time_point deadline = context.deadline();
  if (deadline == Wall::time_point::max()) return std::nullopt;
  return Now() + (deadline - Wall::now());
}

}  // namespace sandglass::server
