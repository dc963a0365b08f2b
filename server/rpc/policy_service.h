#ifndef SANDGLASS_SERVER_RPC_POLICY_SERVICE_H_
#define SANDGLASS_SERVER_RPC_POLICY_SERVICE_H_

#include "sandglass/v1/policy_service.grpc.pb.h"
#include "server/rpc/peers.h"
#include "server/run/approvals.h"
#include "server/run/policy_questions.h"

namespace sandglass::server {

using RawPolicyService = v1::PolicyService::WithRawCallbackMethod_ListApprovals<
    v1::PolicyService::WithRawCallbackMethod_GetApproval<
        v1::PolicyService::WithRawCallbackMethod_Approve<
            v1::PolicyService::WithRawCallbackMethod_Deny<
                v1::PolicyService::WithRawCallbackMethod_CheckProfile<
                    v1::PolicyService::WithRawCallbackMethod_TestRun<
                        v1::PolicyService::Service>>>>>>;

// The public service of policy. Its methods run on gRPC's threads and never
// block.
class PolicyServiceImpl final : public RawPolicyService {
 public:
  // All arguments must outlive the service.
  PolicyServiceImpl(ApprovalTable& approvals, PolicyQuestions& questions,
                    const PeerTable& peers)
      : approvals_(approvals), questions_(questions), peers_(peers) {}

  grpc::ServerUnaryReactor* ListApprovals(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetApproval(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Approve(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Deny(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CheckProfile(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* TestRun(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;

 private:
  ApprovalTable& approvals_;
  PolicyQuestions& questions_;
  const PeerTable& peers_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_POLICY_SERVICE_H_
