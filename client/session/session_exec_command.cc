#include "client/session/session_exec_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/run/exec_text.h"
#include "client/run/run_request.h"
#include "client/session/exec_call.h"
#include "client/session/session_calls.h"
#include "client/terminal/raw_terminal.h"

namespace sandglass::client {
namespace {

using ExecStub = v1::ExecService::Stub;

// Chooses the best shell that exists.
constexpr char kShell[] =
    "command -v bash >/dev/null && exec bash; exec /bin/sh";
constexpr char kPlainTerminal[] = "xterm";
constexpr size_t kMaxTermBytes = 64;

bool IsTerminal(int fd) { return isatty(fd) == 1; }

// A pipe, a file or a socket: its content is for the command. A terminal is
// only used on request, and /dev/null contains nothing.
bool HasInput() {
  struct stat info = {};
  return fstat(STDIN_FILENO, &info) == 0 && !S_ISCHR(info.st_mode);
}

// The value of TERM in the command's environment.
std::string TerminalName(const std::string& term) {
  bool plain = !term.empty() && term.size() <= kMaxTermBytes;
  for (const char c : term) {
    plain = plain && (absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                      c == '-' || c == '+' || c == '.' || c == '_');
  }
  return plain ? term : kPlainTerminal;
}

absl::Status CheckStrings(const v1::ExecSpec& spec) {
  absl::Status status = CheckId(spec.session_id());
  status.Update(CheckUtf8("--exec-id", spec.exec_id()));
  status.Update(CheckUtf8("the command", spec.command()));
  for (const std::string& arg : spec.argv()) {
    status.Update(CheckUtf8("an argument of the command", arg));
  }
  status.Update(CheckUtf8("--cwd", spec.directory()));
  status.Update(CheckUtf8("--env", spec.env()));
  return status;
}

int StartInBackground(const Endpoint& endpoint, v1::ExecSpec spec,
                      bool interactive) {
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  v1::StartExecRequest request;
  *request.mutable_spec() = std::move(spec);
  request.mutable_spec()->set_background(true);
  request.mutable_spec()->set_open_stdin(interactive);
  *request.mutable_wait() = ToProto(absl::ZeroDuration());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kSessionPatience);
  v1::StartExecResponse response;
  const grpc::Status status =
      daemon->execs->StartExec(&context, request, &response);
  if (!status.ok()) return FailExec(status, *daemon);
  return PrintText(
      absl::StrCat(VisibleText(response.snapshot().exec().exec_id()), "\n"));
}

}  // namespace

absl::StatusOr<v1::ExecSpec> BuildExecSpec(const SessionExecOptions& options,
                                           const std::string& term) {
  v1::ExecSpec spec;
  spec.set_session_id(options.session_id);
  spec.set_exec_id(options.exec_id);
  spec.set_command(options.command);
  for (const std::string& arg : options.argv) spec.add_argv(arg);
  if (options.shell && options.command.empty() && options.argv.empty()) {
    spec.set_command(kShell);
  }
  spec.set_directory(options.directory);
  if (options.terminal) (*spec.mutable_env())["TERM"] = TerminalName(term);
  SetPairs(options.env, *spec.mutable_env());
  spec.set_merged_output(options.merged);
  const v1::Limits limits = ToProto(options.limits);
  if (limits.ByteSizeLong() > 0) *spec.mutable_limits() = limits;
  absl::Status checked = CheckStrings(spec);
  if (!checked.ok()) return checked;
  return spec;
}

int SessionExecCommand(const Endpoint& endpoint,
                       const SessionExecOptions& options) {
  if (options.shell &&
      (!IsTerminal(STDIN_FILENO) || !IsTerminal(STDOUT_FILENO))) {
    return Fail(absl::FailedPreconditionError(
        "a shell needs a terminal as standard input and output; for a script "
        "use: sandglass session exec ID -- CMD"));
  }
  // There is no other thread yet.
  const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  absl::StatusOr<v1::ExecSpec> spec =
      BuildExecSpec(options, term != nullptr ? term : "");
  if (!spec.ok()) return Fail(spec.status());
  if (options.terminal) *spec->mutable_terminal() = SizeOf(STDIN_FILENO);
  if (options.background) {
    return StartInBackground(endpoint, *std::move(spec), options.interactive);
  }
  ExecCallOptions call;
  call.session_id = options.session_id;
  call.terminal = options.terminal;
  call.forward_stdin =
      !options.no_stdin && (options.interactive || HasInput() ||
                            (options.terminal && IsTerminal(STDIN_FILENO)));
  spec->set_open_stdin(call.forward_stdin);
  v1::ExecuteRequest first;
  *first.mutable_start()->mutable_spec() = *std::move(spec);
  return CarryOutExec(endpoint, first, call);
}

int SessionAttachCommand(const Endpoint& endpoint,
                         const SessionAttachOptions& options) {
  absl::Status checked = CheckId(options.session_id);
  checked.Update(CheckUtf8("EXEC", options.exec_id));
  if (!checked.ok()) return Fail(checked);
  ExecCallOptions call;
  call.session_id = options.session_id;
  call.exec_id = options.exec_id;
  call.attached = true;
  call.forward_stdin = options.interactive;
  v1::ExecuteRequest first;
  first.mutable_attach()->set_session_id(options.session_id);
  first.mutable_attach()->set_exec_id(options.exec_id);
  return CarryOutExec(endpoint, first, call);
}

int Run(const Daemon& daemon, const SessionPsOptions& options) {
  const absl::Status checked = CheckId(options.session_id);
  if (!checked.ok()) return Fail(checked);
  v1::ListExecsRequest request;
  request.set_session_id(options.session_id);
  return Call(daemon, *daemon.execs, &ExecStub::ListExecs, request,
              [&](const v1::ListExecsResponse& response) {
                return options.json
                           ? PrintJson(response)
                           : PrintText(ExecsText(response, absl::Now()));
              });
}

int Run(const Daemon& daemon, const SessionStopOptions& options) {
  absl::Status checked = CheckId(options.session_id);
  for (const std::string& id : options.exec_ids) {
    checked.Update(CheckUtf8("EXEC", id));
  }
  if (!checked.ok()) return Fail(checked);
  int code = kExitOk;
  for (const std::string& id : options.exec_ids) {
    v1::StopExecRequest request;
    request.set_session_id(options.session_id);
    request.set_exec_id(id);
    request.set_signal(options.signal);
    if (options.grace) *request.mutable_grace() = ToProto(*options.grace);
    const int done = Call(
        daemon, *daemon.execs, &ExecStub::StopExec, request,
        [&](const v1::StopExecResponse& response) {
          return options.json ? PrintJson(response)
                              : PrintText(absl::StrCat(VisibleText(id), "\n"));
        });
    if (code == kExitOk) code = done;
    if (done == kExitBrokenPipe) break;
  }
  return code;
}

int Run(const Daemon& daemon, const SessionForkOptions& options) {
  v1::ForkChild child;
  const v1::Limits limits = ToProto(options.limits);
  if (limits.ByteSizeLong() > 0) *child.mutable_limits() = limits;
  SetPairs(options.env, *child.mutable_env());
  if (options.labels) {
    SetPairs(*options.labels, *child.mutable_labels()->mutable_labels());
  }
  if (options.idle_timeout) {
    *child.mutable_idle_timeout() = ToProto(*options.idle_timeout);
  }
  if (options.max_age) *child.mutable_max_age() = ToProto(*options.max_age);
  absl::Status checked = CheckId(options.session_id);
  checked.Update(CheckUtf8("--env", child.env()));
  checked.Update(CheckUtf8("--label", child.labels().labels()));
  if (!checked.ok()) return Fail(checked);
  v1::ForkSessionRequest request;
  request.set_session_id(options.session_id);
  for (uint32_t i = 0; i < options.count; ++i) *request.add_children() = child;
  return Call(daemon, *daemon.sessions, &v1::SessionService::Stub::ForkSession,
              request, [&](const v1::ForkSessionResponse& response) {
                if (options.json) return PrintJson(response);
                std::string ids;
                for (const v1::Session& session : response.sessions()) {
                  absl::StrAppend(&ids, VisibleText(session.session_id()),
                                  "\n");
                }
                return PrintText(ids);
              });
}

}  // namespace sandglass::client
