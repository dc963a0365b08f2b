#ifndef SANDGLASS_SERVER_RPC_SESSION_SERVICE_H_
#define SANDGLASS_SERVER_RPC_SESSION_SERVICE_H_

#include "sandglass/v1/session_service.grpc.pb.h"
#include "server/base/call_threads.h"
#include "server/rpc/peers.h"
#include "server/session/session_table.h"

namespace sandglass::server {

using RawSessionService = v1::SessionService::WithRawCallbackMethod_ForkSession<
    v1::SessionService::WithRawCallbackMethod_CreateSession<
        v1::SessionService::WithRawCallbackMethod_GetOrCreateSession<
            v1::SessionService::WithRawCallbackMethod_GetSession<
                v1::SessionService::WithRawCallbackMethod_ListSessions<
                    v1::SessionService::WithRawCallbackMethod_UpdateSession<
                        v1::SessionService::WithRawCallbackMethod_PauseSession<
                            v1::SessionService::WithRawCallbackMethod_ResumeSession<
                                v1::SessionService::
                                    WithRawCallbackMethod_DeleteSession<
                                        v1::SessionService::
                                            WithRawCallbackMethod_InterruptKernel<
                                                v1::SessionService::
                                                    WithRawCallbackMethod_RestartKernel<
                                                        v1::SessionService::
                                                            Service>>>>>>>>>>>;

// The public service of sessions. Its methods run on gRPC's threads and never
// block.
class SessionServiceImpl final : public RawSessionService {
 public:
  // All arguments must outlive the service. What waits for a jail does so on
  // `threads`.
  SessionServiceImpl(SessionTable& sessions, CallThreads& threads,
                     const PeerTable& peers)
      : sessions_(sessions), threads_(threads), peers_(peers) {}

  grpc::ServerUnaryReactor* CreateSession(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetOrCreateSession(
      grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetSession(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* UpdateSession(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* PauseSession(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ResumeSession(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteSession(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* InterruptKernel(
      grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RestartKernel(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ForkSession(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;

 private:
  SessionTable& sessions_;
  CallThreads& threads_;
  const PeerTable& peers_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_SESSION_SERVICE_H_
