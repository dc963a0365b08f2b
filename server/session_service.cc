#include "server/session_service.h"

#include <memory>

#include "server/errors.h"
#include "server/request_checks.h"
#include "server/unary_call.h"

namespace sandglass::server {
namespace {

// What a method does with its message: a response or an error.
template <typename Request, typename Method>
grpc::ServerUnaryReactor* Serve(const PeerTable& peers,
                                grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response,
                                const Method& method) {
  Request message;
  const absl::StatusOr<Caller> caller =
      Receive(peers, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  return Answer(context, response, Serialize(method(*caller, message)));
}

// The same for one that names a session; its answer is the session afterwards.
template <typename Request, typename Response, typename Method>
grpc::ServerUnaryReactor* ServeOne(const PeerTable& peers,
                                   SessionTable& sessions,
                                   grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response,
                                   const Method& method) {
  return Serve<Request>(
      peers, context, request, response,
      [&](const Caller& caller,
          const Request& message) -> absl::StatusOr<Response> {
        const absl::StatusOr<std::shared_ptr<Session>> session =
            sessions.Find(caller, message.session_id());
        if (!session.ok()) return session.status();
        if (const absl::Status done = method(**session, message); !done.ok()) {
          return done;
        }
        Response answer;
        *answer.mutable_session() = (*session)->Describe();
        return answer;
      });
}

absl::Status BadContext(const std::string& context) {
  Violations violations;
  CheckContext(context, violations);
  return violations.empty() ? absl::OkStatus() : InvalidRequest(violations);
}

}  // namespace

grpc::ServerUnaryReactor* SessionServiceImpl::CreateSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::CreateSessionRequest>(
      peers_, context, request, response,
      [this](const Caller& caller, const v1::CreateSessionRequest& message) {
        return sessions_.Create(caller, message);
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::GetOrCreateSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::GetOrCreateSessionRequest>(
      peers_, context, request, response,
      [this](const Caller& caller,
             const v1::GetOrCreateSessionRequest& message) {
        return sessions_.GetOrCreate(caller, message);
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::GetSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeOne<v1::GetSessionRequest, v1::GetSessionResponse>(
      peers_, sessions_, context, request, response,
      [](Session&, const v1::GetSessionRequest&) { return absl::OkStatus(); });
}

grpc::ServerUnaryReactor* SessionServiceImpl::ListSessions(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::ListSessionsRequest>(
      peers_, context, request, response,
      [this](const Caller& caller, const v1::ListSessionsRequest& message) {
        return sessions_.List(caller, message);
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::UpdateSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::UpdateSessionRequest>(
      peers_, context, request, response,
      [this](const Caller& caller, const v1::UpdateSessionRequest& message) {
        return sessions_.Update(caller, message);
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::PauseSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeOne<v1::PauseSessionRequest, v1::PauseSessionResponse>(
      peers_, sessions_, context, request, response,
      [](Session& session, const v1::PauseSessionRequest&) {
        return session.Pause();
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::ResumeSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeOne<v1::ResumeSessionRequest, v1::ResumeSessionResponse>(
      peers_, sessions_, context, request, response,
      [](Session& session, const v1::ResumeSessionRequest&) {
        return session.Resume();
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::DeleteSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::DeleteSessionRequest>(
      peers_, context, request, response,
      [this](const Caller& caller, const v1::DeleteSessionRequest& message)
          -> absl::StatusOr<v1::DeleteSessionResponse> {
        const absl::Status deleted =
            sessions_.Delete(caller, message.session_id());
        if (!deleted.ok()) return deleted;
        return v1::DeleteSessionResponse();
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::InterruptKernel(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::InterruptKernelRequest>(
      peers_, context, request, response,
      [this](const Caller& caller, const v1::InterruptKernelRequest& message)
          -> absl::StatusOr<v1::InterruptKernelResponse> {
        const absl::StatusOr<std::shared_ptr<Session>> session =
            sessions_.Find(caller, message.session_id());
        if (!session.ok()) return session.status();
        if (const absl::Status bad = BadContext(message.context()); !bad.ok()) {
          return bad;
        }
        (*session)->Touch();
        v1::InterruptKernelResponse answer;
        answer.set_interrupted((*session)->host().Interrupt(message.context()));
        return answer;
      });
}

grpc::ServerUnaryReactor* SessionServiceImpl::RestartKernel(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeOne<v1::RestartKernelRequest, v1::RestartKernelResponse>(
      peers_, sessions_, context, request, response,
      [](Session& session, const v1::RestartKernelRequest& message) {
        if (absl::Status bad = BadContext(message.context()); !bad.ok()) {
          return bad;
        }
        session.Touch();
        session.host().EndKernel(message.context(), "it was restarted");
        return session.Thaw();
      });
}

}  // namespace sandglass::server
