#ifndef SANDGLASS_SERVER_RPC_OPERATOR_SERVICE_H_
#define SANDGLASS_SERVER_RPC_OPERATOR_SERVICE_H_

#include "sandglass/v1/operator_service.grpc.pb.h"
#include "server/base/call_threads.h"
#include "server/ops/operations.h"
#include "server/rpc/peers.h"
#include "server/run/approvals.h"

namespace sandglass::server {

using RawOperatorService = v1::OperatorService::WithRawCallbackMethod_GetStatus<
    v1::OperatorService::WithRawCallbackMethod_GetUsage<
        v1::OperatorService::Service>>;

// The public service for the people who run the daemon. Its methods run on
// gRPC's threads and never block: what takes a moment is done on `threads`.
class OperatorServiceImpl final : public RawOperatorService {
 public:
  // All arguments must outlive the service. `approvals` knows who the operators
  // are.
  OperatorServiceImpl(const Operations& operations,
                      const ApprovalTable& approvals, CallThreads& threads,
                      const PeerTable& peers)
      : operations_(operations),
        approvals_(approvals),
        threads_(threads),
        peers_(peers) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetUsage(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  const Operations& operations_;
  const ApprovalTable& approvals_;
  CallThreads& threads_;
  const PeerTable& peers_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_OPERATOR_SERVICE_H_
