#include "server/rpc/session_service.h"

#include <memory>
#include <utility>

#include "server/base/cancel_token.h"
#include "server/base/errors.h"
#include "server/job/request_checks.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/unary_call.h"

namespace sandglass::server {
namespace {

// Does Serve for a method that names a session; its answer is the session as it
// is afterwards.
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

// One ForkSession. It waits for the parent's jail, so it does that on a thread
// of its own.
class ForkCall final : public grpc::ServerUnaryReactor {
 public:
  // All arguments must outlive the call.
  ForkCall(SessionTable& sessions, CallThreads& threads, AnswerRoom& answers,
           grpc::ByteBuffer* response)
      : sessions_(sessions),
        threads_(threads),
        held_(answers),
        response_(response) {}

  void Start(const Caller& caller, v1::ForkSessionRequest&& request,
             uint64_t bytes) {
    request_ = std::move(request);
    const absl::Status added = threads_.Add(
        {caller.name, request_.session_id()}, bytes, [this, caller] {
          Finish(ToGrpcStatus(held_.Put(
              caller.name, Serialize(sessions_.Fork(caller, request_, cancel_)),
              response_)));
        });
    if (!added.ok()) Finish(ToGrpcStatus(added));
  }

 private:
  void OnCancel() override { cancel_->Cancel(policy::KillReason::kCancelled); }
  void OnDone() override { delete this; }

  SessionTable& sessions_;
  CallThreads& threads_;
  HeldAnswer held_;
  grpc::ByteBuffer* const response_;
  v1::ForkSessionRequest request_;
  const std::shared_ptr<CancelToken> cancel_ = std::make_shared<CancelToken>();
};

absl::Status BadContext(const std::string& context) {
  Violations violations;
  // A context of another language than the session's has that language behind
  // an "@".
  const size_t at = context.find('@');
  CheckContext(context.substr(0, at), violations);
  if (at != std::string::npos) {
    CheckContext(context.substr(at + 1), violations);
  }
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

grpc::ServerUnaryReactor* SessionServiceImpl::ForkSession(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::ForkSessionRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new ForkCall(sessions_, threads_, peers_.answers(), response);
  call->Start(*caller, std::move(message), request->Length());
  return call;
}

}  // namespace sandglass::server
