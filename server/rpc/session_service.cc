#include <functional>
#include <memory>
#include <utility>

#include "sandglass/v1/session_service.grpc.pb.h"
#include "server/base/cancel_token.h"
#include "server/base/errors.h"
#include "server/edge/unary_call.h"
#include "server/job/request_checks.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

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

class SessionServiceImpl final : public RawSessionService {
 public:
  SessionServiceImpl(SessionTable& sessions, CallThreads& threads,
                     const PeerTable& peers)
      : sessions_(sessions), threads_(threads), peers_(peers) {}

  UnaryReactor* CreateSession(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return Serve<v1::CreateSessionRequest>(
        peers_, context, request, response,
        std::bind_front(&SessionTable::Create, &sessions_));
  }

  UnaryReactor* GetOrCreateSession(CallContext* context, const Bytes* request,
                                   Bytes* response) override {
    return Serve<v1::GetOrCreateSessionRequest>(
        peers_, context, request, response,
        std::bind_front(&SessionTable::GetOrCreate, &sessions_));
  }

  UnaryReactor* GetSession(CallContext* context, const Bytes* request,
                           Bytes* response) override {
    return ServeOne<v1::GetSessionRequest, v1::GetSessionResponse>(
        context, request, response,
        [](Session&, const auto&) { return absl::OkStatus(); });
  }

  UnaryReactor* ListSessions(CallContext* context, const Bytes* request,
                             Bytes* response) override {
    return Serve<v1::ListSessionsRequest>(
        peers_, context, request, response,
        std::bind_front(&SessionTable::List, &sessions_));
  }

  UnaryReactor* UpdateSession(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return Serve<v1::UpdateSessionRequest>(
        peers_, context, request, response,
        std::bind_front(&SessionTable::Update, &sessions_));
  }

  UnaryReactor* PauseSession(CallContext* context, const Bytes* request,
                             Bytes* response) override {
    return ServeOne<v1::PauseSessionRequest, v1::PauseSessionResponse>(
        context, request, response,
        [](Session& session, const auto&) { return session.Pause(); });
  }

  UnaryReactor* ResumeSession(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return ServeOne<v1::ResumeSessionRequest, v1::ResumeSessionResponse>(
        context, request, response,
        [](Session& session, const auto&) { return session.Resume(); });
  }

  UnaryReactor* DeleteSession(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return Serve<v1::DeleteSessionRequest>(
        peers_, context, request, response,
        [this](const Identity& caller, const auto& message)
            -> absl::StatusOr<v1::DeleteSessionResponse> {
          const absl::Status deleted =
              sessions_.Delete(caller, message.session_id());
          if (!deleted.ok()) return deleted;
          return v1::DeleteSessionResponse();
        });
  }

  UnaryReactor* InterruptKernel(CallContext* context, const Bytes* request,
                                Bytes* response) override {
    return Serve<v1::InterruptKernelRequest>(
        peers_, context, request, response,
        [this](const Identity& caller, const auto& message)
            -> absl::StatusOr<v1::InterruptKernelResponse> {
          const absl::StatusOr<std::shared_ptr<Session>> session =
              sessions_.Find(caller, message.session_id());
          if (!session.ok()) return session.status();
          if (const absl::Status bad = BadContext(message.context());
              !bad.ok()) {
            return bad;
          }
          (*session)->Touch();
          v1::InterruptKernelResponse answer;
          answer.set_interrupted(
              (*session)->host().Interrupt(message.context()));
          return answer;
        });
  }

  UnaryReactor* RestartKernel(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return ServeOne<v1::RestartKernelRequest, v1::RestartKernelResponse>(
        context, request, response, [](Session& session, const auto& message) {
          if (absl::Status bad = BadContext(message.context()); !bad.ok()) {
            return bad;
          }
          session.Touch();
          session.host().EndKernel(message.context(), "it was restarted");
          return session.Thaw();
        });
  }

  UnaryReactor* ForkSession(CallContext* context, const Bytes* request,
                            Bytes* response) override {
    v1::ForkSessionRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    const auto cancel = std::make_shared<CancelToken>();
    auto* call = new AnsweredCall(peers_, *caller, response, [cancel] {
      cancel->Cancel(policy::KillReason::kCancelled);
    });
    call->EndOn(threads_, {caller->name, message.session_id()},
                message.ByteSizeLong(),
                [this, caller = *caller, message, cancel] {
                  return Serialize(sessions_.Fork(caller, message, cancel));
                });
    return call;
  }

 private:
  // Does Serve for a method that names a session; its answer is the session as
  // it is afterwards.
  template <typename Request, typename Response, typename Method>
  UnaryReactor* ServeOne(CallContext* context, const Bytes* request,
                         Bytes* response, const Method& method) {
    return Serve<Request>(
        peers_, context, request, response,
        [&](const Identity& caller,
            const Request& message) -> absl::StatusOr<Response> {
          const absl::StatusOr<std::shared_ptr<Session>> session =
              sessions_.Find(caller, message.session_id());
          if (!session.ok()) return session.status();
          if (const absl::Status done = method(**session, message);
              !done.ok()) {
            return done;
          }
          Response answer;
          *answer.mutable_session() = (*session)->Describe();
          return answer;
        });
  }

  SessionTable& sessions_;
  CallThreads& threads_;
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSessionService(SessionTable& sessions,
                                                  CallThreads& threads,
                                                  const PeerTable& peers) {
  return std::make_unique<SessionServiceImpl>(sessions, threads, peers);
}

}  // namespace sandglass::server
