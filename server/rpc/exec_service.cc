#include "server/rpc/exec_service.h"

#include <memory>

#include "server/exec/exec_request.h"
#include "server/rpc/exec_calls.h"
#include "server/rpc/execute_call.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/message_codec.h"
#include "server/rpc/unary_call.h"

namespace sandglass::server {
namespace {

using ByteReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// A stream that ends before it began.
class RefusedExecute final : public ByteReactor {
 public:
  explicit RefusedExecute(const absl::Status& status) {
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

// Makes the answer on the table's loop.
grpc::ServerUnaryReactor* AnswerOnLoop(
    ExecTable& table, const PeerTable& peers, const Caller& caller,
    grpc::ByteBuffer* response,
    std::function<absl::StatusOr<grpc::ByteBuffer>()> make) {
  auto* call = new AnsweredCall(peers, caller, response);
  table.loop().Post([call, make = std::move(make)] { call->End(make()); });
  return call;
}

}  // namespace

ByteReactor* ExecServiceImpl::Execute(grpc::CallbackServerContext* context) {
  const absl::StatusOr<Caller> caller = CallerOf(peers_, *context);
  if (!caller.ok()) return new RefusedExecute(caller.status());
  auto* call = new ExecuteCall(table_, context, *caller, peers_.answers());
  call->Start();
  return call;
}

grpc::ServerUnaryReactor* ExecServiceImpl::StartExec(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::StartExecRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new WaitExecCall(table_, *caller, peers_.answers(), response);
  call->Start(*caller, message);
  return call;
}

grpc::ServerUnaryReactor* ExecServiceImpl::PollExec(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  auto message = std::make_shared<v1::PollExecRequest>();
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, *message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new WaitExecCall(table_, *caller, peers_.answers(), response);
  call->Poll(*caller, message);
  return call;
}

grpc::ServerUnaryReactor* ExecServiceImpl::ListExecs(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::ListExecsRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  if (const absl::Status found =
          table_.Find(*caller, message.session_id()).status();
      !found.ok()) {
    return Refuse(context, found);
  }
  return AnswerOnLoop(
      table_, peers_, *caller, response, [this, id = message.session_id()] {
        v1::ListExecsResponse answer;
        for (const std::shared_ptr<Exec>& exec : table_.List(id)) {
          *answer.add_execs() = exec->Describe();
        }
        return SerializeMessage(answer);
      });
}

grpc::ServerUnaryReactor* ExecServiceImpl::StopExec(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::StopExecRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new WaitExecCall(table_, *caller, peers_.answers(), response);
  call->Stop(*caller, message);
  return call;
}

grpc::ServerUnaryReactor* ExecServiceImpl::SignalExec(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::SignalExecRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  if (const absl::Status known = CheckSignal(message.signal(), "signal");
      !known.ok()) {
    return Refuse(context, known);
  }
  const absl::StatusOr<std::shared_ptr<Session>> session =
      table_.Find(*caller, message.session_id());
  if (!session.ok()) return Refuse(context, session.status());
  if (const absl::Status awake = (*session)->Resume(); !awake.ok()) {
    return Refuse(context, awake);
  }
  return AnswerOnLoop(table_, peers_, *caller, response,
                      [this, message]() -> absl::StatusOr<grpc::ByteBuffer> {
                        const absl::StatusOr<std::shared_ptr<Exec>> exec =
                            table_.Find(message.session_id(),
                                        message.exec_id());
                        if (!exec.ok()) return exec.status();
                        (*exec)->Signal(message.signal());
                        return SerializeMessage(v1::SignalExecResponse());
                      });
}

}  // namespace sandglass::server
