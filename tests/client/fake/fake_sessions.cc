#include "tests/client/fake/fake_sessions.h"

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sandglass::client {
grpc::Status FakeSessions::CreateSession(
    grpc::ServerContext*, const v1::CreateSessionRequest* request,
    v1::CreateSessionResponse* response) {
  return AnswerBy(on_create_session, *request, *response);
}

grpc::Status FakeSessions::GetOrCreateSession(
    grpc::ServerContext*, const v1::GetOrCreateSessionRequest* request,
    v1::GetOrCreateSessionResponse* response) {
  return AnswerBy(on_get_or_create_session, *request, *response);
}

grpc::Status FakeSessions::GetSession(grpc::ServerContext*,
                                      const v1::GetSessionRequest* request,
                                      v1::GetSessionResponse* response) {
  return AnswerBy(on_get_session, *request, *response);
}

grpc::Status FakeSessions::ListSessions(grpc::ServerContext*,
                                        const v1::ListSessionsRequest* request,
                                        v1::ListSessionsResponse* response) {
  return AnswerBy(on_list_sessions, *request, *response);
}

grpc::Status FakeSessions::UpdateSession(
    grpc::ServerContext*, const v1::UpdateSessionRequest* request,
    v1::UpdateSessionResponse* response) {
  return AnswerBy(on_update_session, *request, *response);
}

grpc::Status FakeSessions::PauseSession(grpc::ServerContext*,
                                        const v1::PauseSessionRequest* request,
                                        v1::PauseSessionResponse* response) {
  return AnswerBy(on_pause_session, *request, *response);
}

grpc::Status FakeSessions::ResumeSession(
    grpc::ServerContext*, const v1::ResumeSessionRequest* request,
    v1::ResumeSessionResponse* response) {
  return AnswerBy(on_resume_session, *request, *response);
}

grpc::Status FakeSessions::DeleteSession(
    grpc::ServerContext*, const v1::DeleteSessionRequest* request,
    v1::DeleteSessionResponse* response) {
  return AnswerBy(on_delete_session, *request, *response);
}

grpc::Status FakeSessions::InterruptKernel(
    grpc::ServerContext*, const v1::InterruptKernelRequest* request,
    v1::InterruptKernelResponse* response) {
  return AnswerBy(on_interrupt_kernel, *request, *response);
}

grpc::Status FakeSessions::RestartKernel(
    grpc::ServerContext*, const v1::RestartKernelRequest* request,
    v1::RestartKernelResponse* response) {
  return AnswerBy(on_restart_kernel, *request, *response);
}

grpc::Status FakeSessions::ForkSession(grpc::ServerContext*,
                                       const v1::ForkSessionRequest* request,
                                       v1::ForkSessionResponse* response) {
  return AnswerBy(on_fork_session, *request, *response);
}

v1::Session SessionWith(char digit) {
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  v1::Session session;
  session.set_session_id("ses-" + std::string(16, digit));
  session.set_language("python");
  session.set_profile("default");
  session.set_state(v1::SESSION_STATE_ACTIVE);
  session.set_caller("uid:1000");
  session.mutable_create_time()->set_seconds(now - 3600);
  session.mutable_last_used_time()->set_seconds(now - 1800);
  session.mutable_expire_time()->set_seconds(now + 1800);
  session.mutable_idle_timeout()->set_seconds(3600);
  session.mutable_max_age()->set_seconds(86400);
  return session;
}

}  // namespace sandglass::client
