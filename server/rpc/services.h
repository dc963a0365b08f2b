#ifndef SANDGLASS_SERVER_RPC_SERVICES_H_
#define SANDGLASS_SERVER_RPC_SERVICES_H_

#include <cstdint>
#include <memory>

#include "grpcpp/impl/codegen/service_type.h"
#include "server/base/call_threads.h"
#include "server/base/event_loop.h"
#include "server/edge/peers.h"
#include "server/exec/exec_table.h"
#include "server/libraries/layer_admin.h"
#include "server/ops/operations.h"
#include "server/ops/server_info.h"
#include "server/run/approvals.h"
#include "server/run/policy_questions.h"
#include "server/run/run_dispatcher.h"
#include "server/session/session_table.h"

namespace sandglass::server {

// The public services. Each finds out who calls, parses the request, and hands
// it on. Their methods run on gRPC's threads and never block: what waits for a
// jail or takes a moment is done on `threads`. Every method gets its message as
// bytes, so that we can answer a malformed one ourselves (see message_codec.h).
// All arguments must outlive the service.

// `stream_budget_bytes` is as in StreamBudget.
std::unique_ptr<grpc::Service> MakeSandboxService(RunDispatcher& dispatcher,
                                                  const PeerTable& peers,
                                                  const ServerInfoSources& info,
                                                  uint64_t stream_budget_bytes);
std::unique_ptr<grpc::Service> MakeSessionService(SessionTable& sessions,
                                                  CallThreads& threads,
                                                  const PeerTable& peers);
std::unique_ptr<grpc::Service> MakeFileService(SessionTable& sessions,
                                               CallThreads& threads,
                                               const PeerTable& peers);
std::unique_ptr<grpc::Service> MakeExecService(ExecTable& table,
                                               const PeerTable& peers);
// `loop` is where connections to programs are served.
std::unique_ptr<grpc::Service> MakePortService(SessionTable& sessions,
                                               CallThreads& threads,
                                               EventLoop& loop,
                                               const PeerTable& peers);
std::unique_ptr<grpc::Service> MakePolicyService(ApprovalTable& approvals,
                                                 PolicyQuestions& questions,
                                                 const PeerTable& peers);
std::unique_ptr<grpc::Service> MakeLayerService(LayerAdmin& admin,
                                                CallThreads& threads,
                                                const PeerTable& peers);
// For the people who run the daemon.
std::unique_ptr<grpc::Service> MakeOperatorService(const Operations& operations,
                                                   CallThreads& threads,
                                                   const PeerTable& peers);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_SERVICES_H_
