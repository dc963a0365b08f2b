#ifndef SANDGLASS_SERVER_RPC_SANDBOX_SERVICE_H_
#define SANDGLASS_SERVER_RPC_SANDBOX_SERVICE_H_

#include <cstdint>

#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "server/ops/server_info.h"
#include "server/rpc/peers.h"
#include "server/rpc/run_calls.h"
#include "server/run/run_dispatcher.h"

namespace sandglass::server {

// Every method gets its message as bytes, so that we can answer a malformed one
// ourselves (see message_codec.h).
using RawService = v1::SandboxService::WithRawCallbackMethod_RunCode<
    v1::SandboxService::WithRawCallbackMethod_StreamRunCode<
        v1::SandboxService::WithRawCallbackMethod_ListRuns<
            v1::SandboxService::WithRawCallbackMethod_CancelRun<
                v1::SandboxService::WithRawCallbackMethod_GetServerInfo<
                    v1::SandboxService::Service>>>>>;

// The public service: it finds out who calls, parses the request, and hands it
// on. Its methods run on gRPC's threads and never block.
class SandboxServiceImpl final : public RawService {
 public:
  // All arguments must outlive the service. `stream_budget_bytes` is as in
  // StreamBudget.
  SandboxServiceImpl(RunDispatcher& dispatcher, const PeerTable& peers,
                     const ServerInfoSources& info,
                     uint64_t stream_budget_bytes)
      : dispatcher_(dispatcher),
        peers_(peers),
        info_(info),
        budget_(stream_budget_bytes) {}

  grpc::ServerUnaryReactor* RunCode(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamRunCode(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* ListRuns(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CancelRun(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;

 private:
  RunDispatcher& dispatcher_;
  const PeerTable& peers_;
  const ServerInfoSources& info_;
  StreamBudget budget_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_SANDBOX_SERVICE_H_
