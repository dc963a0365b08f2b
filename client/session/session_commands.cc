#include "client/session/session_commands.h"

#include <unistd.h>

#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/daemon.h"
#include "client/connection/error_text.h"
#include "client/flags/library_lock.h"
#include "client/run/run_request.h"
#include "client/session/session_calls.h"
#include "client/session/session_exec_command.h"
#include "client/session/session_file_commands.h"
#include "client/session/session_forward_command.h"
#include "client/session/session_get_command.h"
#include "client/session/session_put_command.h"
#include "client/session/session_run_command.h"
#include "client/session/session_text.h"

namespace sandglass::client {
namespace {

constexpr int kSessionsPerPage = 1000;
// Keeps a daemon that pages without end from filling our memory.
constexpr int kMaxSessionPages = 1000;
using SessionStub = v1::SessionService::Stub;

absl::StatusOr<v1::CreateSessionRequest> BuildRequest(
    const SessionCreateOptions& options) {
  v1::CreateSessionRequest request;
  request.set_language(options.language);
  request.set_profile(options.profile);
  const v1::Limits limits = ToProto(options.limits);
  if (limits.ByteSizeLong() > 0) *request.mutable_limits() = limits;
  SetPairs(options.env, *request.mutable_env());
  SetPairs(options.labels, *request.mutable_labels());
  if (options.idle_timeout) {
    *request.mutable_idle_timeout() = ToProto(*options.idle_timeout);
  }
  if (options.max_age) *request.mutable_max_age() = ToProto(*options.max_age);
  if (absl::Status set = SetLibraries(options.libraries, options.lock_file,
                                      "--library", request);
      !set.ok()) {
    return set;
  }
  absl::Status status = CheckUtf8("LANGUAGE", request.language());
  status.Update(CheckUtf8("--profile", request.profile()));
  status.Update(CheckUtf8("--env", request.env()));
  status.Update(CheckUtf8("--label", request.labels()));
  if (!status.ok()) return status;
  return request;
}

// Scripts read the id from standard output, so nothing else goes there.
int PrintId(const v1::Session& session) {
  return PrintText(absl::StrCat(VisibleText(session.session_id()), "\n"));
}

int Run(const Daemon& daemon, const SessionCreateOptions& options) {
  absl::StatusOr<v1::CreateSessionRequest> request = BuildRequest(options);
  if (!request.ok()) return Fail(request.status());
  if (!options.get) {
    return Call(daemon, *daemon.sessions, &SessionStub::CreateSession, *request,
                [&](const v1::CreateSessionResponse& response) {
                  return options.json ? PrintJson(response)
                                      : PrintId(response.session());
                });
  }
  v1::GetOrCreateSessionRequest get;
  *get.mutable_create() = *std::move(request);
  return Call(
      daemon, *daemon.sessions, &SessionStub::GetOrCreateSession, get,
      [&](const v1::GetOrCreateSessionResponse& response) {
        if (options.json) return PrintJson(response);
        // Only its labels have selected it: it may differ from what was
        // requested.
        const v1::Session& session = response.session();
        WriteAll(STDERR_FILENO,
                 response.created()
                     ? "sandglass: a new session\n"
                     : absl::StrCat(
                           "sandglass: a session that was there already: ",
                           session.language().empty()
                               ? "no language"
                               : VisibleText(session.language()),
                           ", profile ", VisibleText(session.profile()), "\n"));
        return PrintId(session);
      });
}

grpc::Status CollectSessions(const Daemon& daemon,
                             v1::ListSessionsRequest request,
                             v1::ListSessionsResponse& sessions) {
  request.set_page_size(kSessionsPerPage);
  for (int i = 0; i < kMaxSessionPages; ++i) {
    grpc::ClientContext context;
    SetQuickDeadline(context);
    v1::ListSessionsResponse page;
    grpc::Status status =
        daemon.sessions->ListSessions(&context, request, &page);
    if (!status.ok()) return status;
    sessions.mutable_sessions()->MergeFrom(page.sessions());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  return grpc::Status::OK;
}

int Run(const Daemon& daemon, const SessionListOptions& options) {
  v1::ListSessionsRequest request;
  SetPairs(options.labels, *request.mutable_labels());
  const absl::Status checked = CheckUtf8("--label", request.labels());
  if (!checked.ok()) return Fail(checked);
  if (options.state == "active") request.add_states(v1::SESSION_STATE_ACTIVE);
  if (options.state == "paused") request.add_states(v1::SESSION_STATE_PAUSED);
  if (options.state == "dormant") {
    request.add_states(v1::SESSION_STATE_DORMANT);
  }
  v1::ListSessionsResponse sessions;
  const grpc::Status status =
      CollectSessions(daemon, std::move(request), sessions);
  if (!status.ok()) return FailCall(status, daemon);
  return options.json ? PrintJson(sessions)
                      : PrintText(SessionsText(sessions, absl::Now()));
}

int Run(const Daemon& daemon, const SessionInfoOptions& options) {
  const absl::Status checked = CheckId(options.session_id);
  if (!checked.ok()) return Fail(checked);
  v1::GetSessionRequest request;
  request.set_session_id(options.session_id);
  return Call(daemon, *daemon.sessions, &SessionStub::GetSession, request,
              [&](const v1::GetSessionResponse& response) {
                return options.json ? PrintJson(response)
                                    : PrintText(SessionText(response.session(),
                                                            absl::Now()));
              });
}

int Run(const Daemon& daemon, const SessionUpdateOptions& options) {
  v1::UpdateSessionRequest request;
  request.set_session_id(options.session_id);
  if (options.idle_timeout) {
    *request.mutable_idle_timeout() = ToProto(*options.idle_timeout);
  }
  if (options.max_age) *request.mutable_max_age() = ToProto(*options.max_age);
  if (options.labels) {
    SetPairs(*options.labels, *request.mutable_labels()->mutable_labels());
  }
  absl::Status checked = CheckId(options.session_id);
  checked.Update(CheckUtf8("--label", request.labels().labels()));
  if (!checked.ok()) return Fail(checked);
  return Call(
      daemon, *daemon.sessions, &SessionStub::UpdateSession, request,
      [&](const v1::UpdateSessionResponse& response) {
        if (options.json) return PrintJson(response);
        return PrintDone(
            options.session_id,
            absl::StrCat("ends ", ExpiryText(response.session(), absl::Now())));
      });
}

int Run(const Daemon& daemon, const SessionVerbOptions& options) {
  const absl::Status checked = CheckId(options.session_id);
  if (!checked.ok()) return Fail(checked);
  if (options.verb == SessionVerb::kPause) {
    v1::PauseSessionRequest request;
    request.set_session_id(options.session_id);
    return Call(daemon, *daemon.sessions, &SessionStub::PauseSession, request,
                [&](const v1::PauseSessionResponse& response) {
                  return options.json
                             ? PrintJson(response)
                             : PrintDone(options.session_id, "is paused");
                });
  }
  v1::ResumeSessionRequest request;
  request.set_session_id(options.session_id);
  return Call(daemon, *daemon.sessions, &SessionStub::ResumeSession, request,
              [&](const v1::ResumeSessionResponse& response) {
                return options.json ? PrintJson(response)
                                    : PrintDone(options.session_id, "goes on");
              });
}

int Run(const Daemon& daemon, const KernelVerbOptions& options) {
  absl::Status checked = CheckId(options.session_id);
  checked.Update(CheckUtf8("--context", options.context));
  if (!checked.ok()) return Fail(checked);
  if (options.verb == KernelVerb::kInterrupt) {
    v1::InterruptKernelRequest request;
    request.set_session_id(options.session_id);
    request.set_context(options.context);
    return Call(daemon, *daemon.sessions, &SessionStub::InterruptKernel,
                request, [&](const v1::InterruptKernelResponse& response) {
                  if (options.json) return PrintJson(response);
                  return PrintText(response.interrupted()
                                       ? "interrupted\n"
                                       : "nothing ran that could be "
                                         "interrupted\n");
                });
  }
  v1::RestartKernelRequest request;
  request.set_session_id(options.session_id);
  request.set_context(options.context);
  return Call(
      daemon, *daemon.sessions, &SessionStub::RestartKernel, request,
      [&](const v1::RestartKernelResponse& response) {
        if (options.json) return PrintJson(response);
        for (const v1::KernelInfo& kernel : response.session().kernels()) {
          if (kernel.context() == options.context &&
              (kernel.state() != v1::KERNEL_STATE_NOT_STARTED ||
               kernel.restarts() > 0)) {
            return PrintText(
                "the kernel has ended; the next run starts another\n");
          }
        }
        return PrintText("no such kernel has started\n");
      });
}

// Ends sessions one by one and prints the id of each that ended. One that can't
// be ended doesn't stop the others.
int Delete(const Daemon& daemon, const SessionDeleteOptions& options,
           const std::vector<std::string>& ids) {
  int code = kExitOk;
  for (const std::string& id : ids) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kSessionPatience);
    v1::DeleteSessionRequest request;
    request.set_session_id(id);
    v1::DeleteSessionResponse response;
    const grpc::Status status =
        daemon.sessions->DeleteSession(&context, request, &response);
    // With "all", one of the listed sessions may have ended meanwhile.
    if (options.all && status.error_code() == grpc::StatusCode::NOT_FOUND) {
      continue;
    }
    const int done = status.ok()
                         ? PrintText(absl::StrCat(VisibleText(id), "\n"))
                         : FailCall(status, daemon);
    if (code == kExitOk) code = done;
    if (IsConnectionLoss(status) || done == kExitBrokenPipe) break;
  }
  return code;
}

int Run(const Daemon& daemon, const SessionLinkOptions& options) {
  const absl::Status checked = CheckId(options.session_id);
  if (!checked.ok()) return Fail(checked);
  v1::CreateLinkRequest request;
  request.set_session_id(options.session_id);
  request.set_port(options.port);
  if (options.duration) {
    *request.mutable_duration() = ToProto(*options.duration);
  }
  return Call(daemon, *daemon.ports, &v1::PortService::Stub::CreateLink,
              request, [&](const v1::CreateLinkResponse& response) {
                return options.json ? PrintJson(response)
                                    : PrintText(absl::StrCat(
                                          VisibleText(response.url()), "\n"));
              });
}

int Run(const Daemon& daemon, const SessionDeleteOptions& options) {
  std::vector<std::string> ids = options.session_ids;
  v1::ListSessionsRequest request;
  SetPairs(options.labels, *request.mutable_labels());
  absl::Status checked = CheckUtf8("--label", request.labels());
  for (const std::string& id : ids) checked.Update(CheckId(id));
  if (!checked.ok()) return Fail(checked);
  if (options.all) {
    v1::ListSessionsResponse sessions;
    const grpc::Status status =
        CollectSessions(daemon, std::move(request), sessions);
    if (!status.ok()) return FailCall(status, daemon);
    for (const v1::Session& session : sessions.sessions()) {
      ids.push_back(session.session_id());
    }
  }
  return Delete(daemon, options, ids);
}

struct Dispatch {
  const Endpoint& endpoint;
  // This command reads its inputs before it connects.
  int operator()(const SessionRunOptions& options) const {
    return SessionRunCommand(endpoint, options);
  }
  // These commands set up signals before they connect.
  int operator()(const SessionPutOptions& options) const {
    return SessionPutCommand(endpoint, options);
  }
  int operator()(const SessionGetOptions& options) const {
    return SessionGetCommand(endpoint, options);
  }
  int operator()(const SessionCatOptions& options) const {
    return SessionCatCommand(endpoint, options);
  }
  int operator()(const SessionSnapshotOptions& options) const {
    return SessionSnapshotCommand(endpoint, options);
  }
  int operator()(const SessionRestoreOptions& options) const {
    return SessionRestoreCommand(endpoint, options);
  }
  int operator()(const SessionExecOptions& options) const {
    return SessionExecCommand(endpoint, options);
  }
  int operator()(const SessionForwardOptions& options) const {
    return SessionForwardCommand(endpoint, options);
  }
  int operator()(const SessionAttachOptions& options) const {
    return SessionAttachCommand(endpoint, options);
  }
  template <typename Options>
  int operator()(const Options& options) const {
    absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
    return daemon.ok() ? Run(*daemon, options) : Fail(daemon.status());
  }
};

}  // namespace

int SessionCommand(const Endpoint& endpoint, const SessionOptions& options) {
  return std::visit(Dispatch{endpoint}, options);
}

}  // namespace sandglass::client
