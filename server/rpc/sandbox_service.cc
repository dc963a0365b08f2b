#include "server/rpc/sandbox_service.h"

#include <utility>

#include "server/rpc/grpc_status.h"
#include "server/rpc/message_codec.h"
#include "server/rpc/unary_call.h"

namespace sandglass::server {
namespace {

// A stream that ends before it began.
class RefusedStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& status) {
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerUnaryReactor* SandboxServiceImpl::RunCode(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::RunCodeRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new UnaryRunCall(dispatcher_, peers_.answers(), response);
  call->Start(*caller, std::move(message), DeadlineOf(*context));
  return call;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* SandboxServiceImpl::StreamRunCode(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  v1::StreamRunCodeRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return new RefusedStream(caller.status());
  auto* call = new StreamRunCall(dispatcher_, budget_.ShareOf(*caller),
                                 peers_.answers());
  call->Start(*caller, std::move(*message.mutable_run()), DeadlineOf(*context));
  return call;
}

grpc::ServerUnaryReactor* SandboxServiceImpl::ListRuns(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::ListRunsRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  return Answer(peers_, *caller, context, response,
                Serialize(dispatcher_.List(*caller, message)));
}

grpc::ServerUnaryReactor* SandboxServiceImpl::CancelRun(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::CancelRunRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  absl::StatusOr<v1::RunSummary> summary =
      dispatcher_.Cancel(*caller, message.run_id());
  if (!summary.ok()) return Refuse(context, summary.status());
  v1::CancelRunResponse answer;
  *answer.mutable_run() = *std::move(summary);
  return Answer(peers_, *caller, context, response, SerializeMessage(answer));
}

grpc::ServerUnaryReactor* SandboxServiceImpl::GetServerInfo(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::GetServerInfoRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  return Answer(peers_, *caller, context, response,
                SerializeMessage(MakeServerInfo(info_)));
}

}  // namespace sandglass::server
