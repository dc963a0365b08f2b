#ifndef SANDGLASS_TESTS_CLIENT_FAKE_FAKE_SESSIONS_H_
#define SANDGLASS_TESTS_CLIENT_FAKE_FAKE_SESSIONS_H_

#include <functional>

#include "grpcpp/server_context.h"
#include "sandglass/v1/session_service.grpc.pb.h"
#include "tests/client/fake/shared.h"

namespace sandglass::client {

// What a test lets one call do; the call is UNIMPLEMENTED where it says
// nothing.
template <typename Request, typename Response>
using Handler = Shared<std::function<grpc::Status(const Request&, Response&)>>;

template <typename Request, typename Response>
grpc::Status AnswerBy(const Handler<Request, Response>& handler,
                      const Request& request, Response& response) {
  const auto function = handler.Get();
  if (function == nullptr) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not set");
  }
  return function(request, response);
}

// A SessionService whose answers a test sets before it calls.
class FakeSessions final : public v1::SessionService::Service {
 public:
  Handler<v1::CreateSessionRequest, v1::CreateSessionResponse>
      on_create_session;
  Handler<v1::GetOrCreateSessionRequest, v1::GetOrCreateSessionResponse>
      on_get_or_create_session;
  Handler<v1::GetSessionRequest, v1::GetSessionResponse> on_get_session;
  Handler<v1::ListSessionsRequest, v1::ListSessionsResponse> on_list_sessions;
  Handler<v1::UpdateSessionRequest, v1::UpdateSessionResponse>
      on_update_session;
  Handler<v1::PauseSessionRequest, v1::PauseSessionResponse> on_pause_session;
  Handler<v1::ResumeSessionRequest, v1::ResumeSessionResponse>
      on_resume_session;
  Handler<v1::DeleteSessionRequest, v1::DeleteSessionResponse>
      on_delete_session;
  Handler<v1::InterruptKernelRequest, v1::InterruptKernelResponse>
      on_interrupt_kernel;
  Handler<v1::RestartKernelRequest, v1::RestartKernelResponse>
      on_restart_kernel;
  Handler<v1::ForkSessionRequest, v1::ForkSessionResponse> on_fork_session;

 private:
  grpc::Status CreateSession(grpc::ServerContext*,
                             const v1::CreateSessionRequest* request,
                             v1::CreateSessionResponse* response) override;
  grpc::Status GetOrCreateSession(
      grpc::ServerContext*, const v1::GetOrCreateSessionRequest* request,
      v1::GetOrCreateSessionResponse* response) override;
  grpc::Status GetSession(grpc::ServerContext*,
                          const v1::GetSessionRequest* request,
                          v1::GetSessionResponse* response) override;
  grpc::Status ListSessions(grpc::ServerContext*,
                            const v1::ListSessionsRequest* request,
                            v1::ListSessionsResponse* response) override;
  grpc::Status UpdateSession(grpc::ServerContext*,
                             const v1::UpdateSessionRequest* request,
                             v1::UpdateSessionResponse* response) override;
  grpc::Status PauseSession(grpc::ServerContext*,
                            const v1::PauseSessionRequest* request,
                            v1::PauseSessionResponse* response) override;
  grpc::Status ResumeSession(grpc::ServerContext*,
                             const v1::ResumeSessionRequest* request,
                             v1::ResumeSessionResponse* response) override;
  grpc::Status DeleteSession(grpc::ServerContext*,
                             const v1::DeleteSessionRequest* request,
                             v1::DeleteSessionResponse* response) override;
  grpc::Status InterruptKernel(grpc::ServerContext*,
                               const v1::InterruptKernelRequest* request,
                               v1::InterruptKernelResponse* response) override;
  grpc::Status RestartKernel(grpc::ServerContext*,
                             const v1::RestartKernelRequest* request,
                             v1::RestartKernelResponse* response) override;
  grpc::Status ForkSession(grpc::ServerContext*,
                           const v1::ForkSessionRequest* request,
                           v1::ForkSessionResponse* response) override;
};

// "ses-" and 16 times this digit: python, active, made an hour ago and ending
// in half an hour.
v1::Session SessionWith(char digit);

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_FAKE_FAKE_SESSIONS_H_
