#include "server/rpc/policy_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "server/base/errors.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/unary_call.h"

namespace sandglass::server {
namespace {

// Does Serve for a method whose answer is the approval as it is afterwards.
template <typename Request, typename Response, typename Method>
grpc::ServerUnaryReactor* ServeApproval(const PeerTable& peers,
                                        grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response,
                                        const Method& method) {
  return Serve<Request>(
      peers, context, request, response,
      [&](const Caller& caller,
          const Request& message) -> absl::StatusOr<Response> {
        absl::StatusOr<v1::Approval> approval = method(caller, message);
        if (!approval.ok()) return approval.status();
        Response answer;
        *answer.mutable_approval() = *std::move(approval);
        return answer;
      });
}

// One TestRun. It is treated like a run, except that nothing of it runs.
class TestRunCall final : public grpc::ServerUnaryReactor, RunListener {
 public:
  // All arguments must outlive the call.
  TestRunCall(PolicyQuestions& questions, AnswerRoom& answers,
              grpc::ByteBuffer* response)
      : questions_(questions), held_(answers), response_(response) {}

  void Start(const Caller& caller, v1::TestRunRequest&& request,
             std::optional<MonotonicTime> deadline) {
    caller_ = caller.name;
    run_ = questions_.TestRun(caller, std::move(request), deadline, this);
  }

 private:
  void OnEnd(const RunEnd& end) override {
    if (!end.status.ok()) return Finish(ToGrpcStatus(end.status));
    const v1::RunCodeResponse& run = *end.response;
    v1::TestRunResponse answer;
    answer.set_decision(run.outcome());
    answer.set_explanation(run.evidence().explanation());
    *answer.mutable_findings() = run.findings();
    answer.set_findings_dropped(run.findings_dropped());
    answer.set_language(run.language());
    answer.set_profile(run.profile());
    *answer.mutable_limits() = run.limits();
    Finish(
        ToGrpcStatus(held_.Put(caller_, SerializeMessage(answer), response_)));
  }

  void OnCancel() override {
    if (run_ != nullptr && questions_.Leave(run_, this)) {
      Finish(ToGrpcStatus(CallerGone()));
    }
  }
  void OnDone() override { delete this; }

  PolicyQuestions& questions_;
  HeldAnswer held_;
  grpc::ByteBuffer* const response_;
  std::string caller_;
  // Set by Start, which returns before gRPC may call OnCancel.
  std::shared_ptr<Run> run_;
};

}  // namespace

grpc::ServerUnaryReactor* PolicyServiceImpl::ListApprovals(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::ListApprovalsRequest>(
      peers_, context, request, response,
      [&](const Caller& caller, const v1::ListApprovalsRequest& message)
          -> absl::StatusOr<v1::ListApprovalsResponse> {
        return approvals_.List(caller, message);
      });
}

grpc::ServerUnaryReactor* PolicyServiceImpl::GetApproval(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeApproval<v1::GetApprovalRequest, v1::GetApprovalResponse>(
      peers_, context, request, response,
      [&](const Caller& caller, const v1::GetApprovalRequest& message) {
        return approvals_.Get(caller, message.approval_id());
      });
}

grpc::ServerUnaryReactor* PolicyServiceImpl::Approve(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeApproval<v1::ApproveRequest, v1::ApproveResponse>(
      peers_, context, request, response,
      [&](const Caller& caller, const v1::ApproveRequest& message) {
        return approvals_.Approve(caller, message);
      });
}

grpc::ServerUnaryReactor* PolicyServiceImpl::Deny(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeApproval<v1::DenyRequest, v1::DenyResponse>(
      peers_, context, request, response,
      [&](const Caller& caller, const v1::DenyRequest& message) {
        return approvals_.Deny(caller, message);
      });
}

grpc::ServerUnaryReactor* PolicyServiceImpl::CheckProfile(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::CheckProfileRequest>(
      peers_, context, request, response,
      [&](const Caller&, const v1::CheckProfileRequest& message) {
        return questions_.CheckProfile(message);
      });
}

grpc::ServerUnaryReactor* PolicyServiceImpl::TestRun(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::TestRunRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new TestRunCall(questions_, peers_.answers(), response);
  call->Start(*caller, std::move(message), DeadlineOf(*context));
  return call;
}

}  // namespace sandglass::server
