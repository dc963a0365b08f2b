#include <memory>

#include "sandglass/v1/exec_service.grpc.pb.h"
#include "server/edge/unary_call.h"
#include "server/exec/exec_request.h"
#include "server/rpc/exec_calls.h"
#include "server/rpc/execute_call.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

// Makes the answer on the table's loop.
UnaryReactor* AnswerOnLoop(ExecTable& table, const PeerTable& peers,
                           const Identity& caller, Bytes* response,
                           std::function<absl::StatusOr<Bytes>()> make) {
  auto* call = new AnsweredCall(peers, caller, response);
  table.loop().Post([call, make = std::move(make)] { call->End(make()); });
  return call;
}

using RawExecService = v1::ExecService::WithRawCallbackMethod_Execute<
    v1::ExecService::WithRawCallbackMethod_StartExec<
        v1::ExecService::WithRawCallbackMethod_PollExec<
            v1::ExecService::WithRawCallbackMethod_ListExecs<
                v1::ExecService::WithRawCallbackMethod_StopExec<
                    v1::ExecService::WithRawCallbackMethod_SignalExec<
                        v1::ExecService::Service>>>>>>;

class ExecServiceImpl final : public RawExecService {
 public:
  ExecServiceImpl(ExecTable& table, const PeerTable& peers)
      : table_(table), peers_(peers) {}

  BidiReactor* Execute(CallContext* context) override {
    const absl::StatusOr<Identity> caller =
        CallerOf<v1::ExecuteRequest>(peers_, *context);
    if (!caller.ok()) return new RefusedCall<BidiReactor>(caller.status());
    auto* call = new ExecuteCall(table_, context, *caller, peers_.answers());
    call->Start();
    return call;
  }

  UnaryReactor* StartExec(CallContext* context, const Bytes* request,
                          Bytes* response) override {
    v1::StartExecRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    auto* call = new WaitExecCall(table_, *caller, peers_.answers(), response);
    call->Start(message);
    return call;
  }

  UnaryReactor* PollExec(CallContext* context, const Bytes* request,
                         Bytes* response) override {
    auto message = std::make_shared<v1::PollExecRequest>();
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, *message);
    if (!caller.ok()) return Refuse(context, caller.status());
    // What only looks may be called by those who may only read.
    if (!message->stdin().empty() || message->close_stdin() ||
        message->has_resize()) {
      if (absl::Status may =
              peers_.credentials().Authorise(*caller, Changes(Scope::kExec));
          !may.ok()) {
        return Refuse(context, may);
      }
    }
    auto* call = new WaitExecCall(table_, *caller, peers_.answers(), response);
    call->Poll(message);
    return call;
  }

  UnaryReactor* ListExecs(CallContext* context, const Bytes* request,
                          Bytes* response) override {
    v1::ListExecsRequest message;
    const absl::StatusOr<Identity> caller =
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

  UnaryReactor* StopExec(CallContext* context, const Bytes* request,
                         Bytes* response) override {
    v1::StopExecRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    auto* call = new WaitExecCall(table_, *caller, peers_.answers(), response);
    call->Stop(message);
    return call;
  }

  UnaryReactor* SignalExec(CallContext* context, const Bytes* request,
                           Bytes* response) override {
    v1::SignalExecRequest message;
    const absl::StatusOr<Identity> caller =
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
                        [this, message]() -> absl::StatusOr<Bytes> {
                          const absl::StatusOr<std::shared_ptr<Exec>> exec =
                              table_.Find(message.session_id(),
                                          message.exec_id());
                          if (!exec.ok()) return exec.status();
                          (*exec)->Signal(message.signal());
                          return SerializeMessage(v1::SignalExecResponse());
                        });
  }

 private:
  ExecTable& table_;
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeExecService(ExecTable& table,
                                               const PeerTable& peers) {
  return std::make_unique<ExecServiceImpl>(table, peers);
}

}  // namespace sandglass::server
