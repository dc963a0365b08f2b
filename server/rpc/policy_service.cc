#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "sandglass/v1/policy_service.grpc.pb.h"
#include "server/base/errors.h"
#include "server/edge/unary_call.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

// One TestRun. It is treated like a run, except that nothing of it runs.
class TestRunCall final : public UnaryReactor, RunListener {
 public:
  // All arguments must outlive the call.
  TestRunCall(PolicyQuestions& questions, AnswerRoom& answers, Bytes* response)
      : questions_(questions), held_(answers), response_(response) {}

  void Start(const Identity& caller, v1::TestRunRequest&& request,
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
  Bytes* const response_;
  std::string caller_;
  // Set by Start, which returns before gRPC may call OnCancel.
  std::shared_ptr<Run> run_;
};

using RawPolicyService = v1::PolicyService::WithRawCallbackMethod_ListApprovals<
    v1::PolicyService::WithRawCallbackMethod_GetApproval<
        v1::PolicyService::WithRawCallbackMethod_Approve<
            v1::PolicyService::WithRawCallbackMethod_Deny<
                v1::PolicyService::WithRawCallbackMethod_CheckProfile<
                    v1::PolicyService::WithRawCallbackMethod_TestRun<
                        v1::PolicyService::Service>>>>>>;

class PolicyServiceImpl final : public RawPolicyService {
 public:
  PolicyServiceImpl(ApprovalTable& approvals, PolicyQuestions& questions,
                    const PeerTable& peers)
      : approvals_(approvals), questions_(questions), peers_(peers) {}

  UnaryReactor* ListApprovals(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return Serve<v1::ListApprovalsRequest>(
        peers_, context, request, response,
        std::bind_front(&ApprovalTable::List, &approvals_));
  }

  UnaryReactor* GetApproval(CallContext* context, const Bytes* request,
                            Bytes* response) override {
    return ServeApproval<v1::GetApprovalRequest, v1::GetApprovalResponse>(
        context, request, response,
        [this](const Identity& caller, const auto& message) {
          return approvals_.Get(caller, message.approval_id());
        });
  }

  UnaryReactor* Approve(CallContext* context, const Bytes* request,
                        Bytes* response) override {
    return ServeApproval<v1::ApproveRequest, v1::ApproveResponse>(
        context, request, response,
        std::bind_front(&ApprovalTable::Approve, &approvals_));
  }

  UnaryReactor* Deny(CallContext* context, const Bytes* request,
                     Bytes* response) override {
    return ServeApproval<v1::DenyRequest, v1::DenyResponse>(
        context, request, response,
        std::bind_front(&ApprovalTable::Deny, &approvals_));
  }

  UnaryReactor* CheckProfile(CallContext* context, const Bytes* request,
                             Bytes* response) override {
    return Serve<v1::CheckProfileRequest>(
        peers_, context, request, response,
        [this](const Identity&, const auto& message) {
          return questions_.CheckProfile(message);
        });
  }

  UnaryReactor* TestRun(CallContext* context, const Bytes* request,
                        Bytes* response) override {
    v1::TestRunRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    auto* call = new TestRunCall(questions_, peers_.answers(), response);
    call->Start(*caller, std::move(message), DeadlineOf(*context));
    return call;
  }

 private:
  // Does Serve for a method whose answer is the approval as it is afterwards.
  template <typename Request, typename Response, typename Method>
  UnaryReactor* ServeApproval(CallContext* context, const Bytes* request,
                              Bytes* response, const Method& method) {
    return Serve<Request>(
        peers_, context, request, response,
        [&](const Identity& caller,
            const Request& message) -> absl::StatusOr<Response> {
          absl::StatusOr<v1::Approval> approval = method(caller, message);
          if (!approval.ok()) return approval.status();
          Response answer;
          *answer.mutable_approval() = *std::move(approval);
          return answer;
        });
  }

  ApprovalTable& approvals_;
  PolicyQuestions& questions_;
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePolicyService(ApprovalTable& approvals,
                                                 PolicyQuestions& questions,
                                                 const PeerTable& peers) {
  return std::make_unique<PolicyServiceImpl>(approvals, questions, peers);
}

}  // namespace sandglass::server
