#ifndef SANDGLASS_SERVER_RPC_EXEC_SERVICE_H_
#define SANDGLASS_SERVER_RPC_EXEC_SERVICE_H_

#include "sandglass/v1/exec_service.grpc.pb.h"
#include "server/exec/exec_table.h"
#include "server/rpc/peers.h"

namespace sandglass::server {

using RawExecService = v1::ExecService::WithRawCallbackMethod_Execute<
    v1::ExecService::WithRawCallbackMethod_StartExec<
        v1::ExecService::WithRawCallbackMethod_PollExec<
            v1::ExecService::WithRawCallbackMethod_ListExecs<
                v1::ExecService::WithRawCallbackMethod_StopExec<
                    v1::ExecService::WithRawCallbackMethod_SignalExec<
                        v1::ExecService::Service>>>>>>;

// The public service of sessions' commands. Its methods run on gRPC's threads
// and never block.
class ExecServiceImpl final : public RawExecService {
 public:
  // Both must outlive the service.
  ExecServiceImpl(ExecTable& table, const PeerTable& peers)
      : table_(table), peers_(peers) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Execute(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* StartExec(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* PollExec(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListExecs(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* StopExec(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SignalExec(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;

 private:
  ExecTable& table_;
  const PeerTable& peers_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_EXEC_SERVICE_H_
