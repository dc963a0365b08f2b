#include "client/session/exec_call.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/connection/daemon.h"
#include "client/connection/error_text.h"
#include "client/run/exec_text.h"
#include "client/run/output_printer.h"
#include "client/run/verdict_line.h"
#include "client/session/exec_input.h"
#include "client/session/exec_signals.h"

namespace sandglass::client {
namespace {

// How a call ended.
struct CallEnd {
  std::optional<v1::ExecEnd> end;
  bool left = false;
  grpc::Status status;
  int output_error = 0;  // errno of the write that made us give up
  std::string exec_id;   // as far as it is known
};

int PrintOutput(const v1::ExecOutput& output, bool terminal,
                OutputPrinter& printer) {
  // Our own terminal shows what the command's does: escapes are its language.
  if (terminal) return WriteAll(STDOUT_FILENO, output.data());
  return printer.Chunk(output.stream(), output.offset(), output.data());
}

// Whether the command to attach to has a terminal. If it doesn't exist, the
// attaching itself will report that.
bool HasTerminal(const Daemon& daemon, const ExecCallOptions& options) {
  v1::ListExecsRequest request;
  request.set_session_id(options.session_id);
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::ListExecsResponse response;
  daemon.execs->ListExecs(&context, request, &response);
  for (const v1::ExecInfo& exec : response.execs()) {
    if (exec.exec_id() == options.exec_id) return exec.has_terminal();
  }
  return false;
}

// Reads until the stream ends.
void ReadAll(ExecStream& stream, grpc::ClientContext& context,
             const ExecCallOptions& options, ExecSignals& signals,
             OutputPrinter& printer, CallEnd& call) {
  v1::ExecuteResponse event;
  while (stream.Read(&event)) {
    // After a cancellation the rest is read and dropped, because Finish needs
    // the stream's end.
    if (call.output_error != 0) continue;
    if (event.has_started()) {
      call.exec_id = event.started().exec().exec_id();
      signals.Started(call.exec_id);
    } else if (event.has_output()) {
      call.output_error =
          PrintOutput(event.output(), options.terminal, printer);
      if (call.output_error != 0) context.TryCancel();
    } else if (event.has_end()) {
      call.end = std::move(*event.mutable_end());
    } else if (event.has_yielded()) {
      call.left = true;
    }
  }
}

CallEnd Talk(const Daemon& daemon, const v1::ExecuteRequest& first,
             const ExecCallOptions& options, ExecSignals& signals,
             OutputPrinter& printer) {
  CallEnd call;
  grpc::ClientContext context;
  const auto stream = daemon.execs->Execute(&context);
  stream->Write(first);
  {
    ExecInput input({options.forward_stdin, options.terminal});
    if (!input.status().ok()) {
      Fail(input.status());
      context.TryCancel();
    }
    const ExecSignals::Scope scope(signals, daemon, context, input);
    input.Start(*stream);
    ReadAll(*stream, context, options, signals, printer, call);
  }
  call.status = stream->Finish();
  return call;
}

// Says what can be done about a command that goes on without us.
std::string LeftLine(const ExecCallOptions& options, const CallEnd& call) {
  const std::string names = absl::StrCat(VisibleText(options.session_id), " ",
                                         VisibleText(call.exec_id));
  return absl::StrCat("sandglass: left; the command goes on. Back to it: ",
                      "sandglass session attach ", names,
                      "; to end it: sandglass session stop ", names);
}

int Conclude(const Daemon& daemon, const ExecCallOptions& options,
             const CallEnd& call, absl::Duration elapsed, int signal,
             OutputPrinter& printer) {
  if (call.output_error != 0) return OutputFailure(call.output_error);
  const int output_error = printer.Finish();
  if (output_error != 0) return OutputFailure(output_error);
  if (call.end) {
    const v1::RunCodeResponse verdict = AsRun(*call.end);
    // A user who runs a command wants its output and exit code; a limit is
    // worth a message, and so are a signal that wasn't sent from here, what was
    // left running, and hints.
    const bool plain = verdict.outcome() == v1::OUTCOME_OK ||
                       verdict.outcome() == v1::OUTCOME_NONZERO_EXIT;
    if (signal == 0) {
      if (!plain) printer.Line(VerdictLine(verdict, printer.colour()));
      for (const std::string& note : NoteLines(verdict)) printer.Line(note);
    }
    // The command was stopped from here.
    if (verdict.outcome() == v1::OUTCOME_CANCELLED && signal != 0) {
      return kExitSignalBase + signal;
    }
    return ExitCodeFor(verdict);
  }
  // A user who is only attached ends nothing by leaving.
  if (call.left || (signal != 0 && options.attached)) {
    printer.Line(LeftLine(options, call));
    return signal == 0 ? kExitOk : kExitSignalBase + signal;
  }
  if (signal != 0) {
    printer.Line(
        InterruptedLine(signal, elapsed, call.exec_id, printer.colour()));
    return kExitSignalBase + signal;
  }
  if (call.status.ok()) {
    return Fail(absl::InternalError(
        "the daemon ended the call without an answer (a bug of the daemon)"));
  }
  return FailExec(call.status, daemon);
}

}  // namespace

int FailExec(const grpc::Status& status, const Daemon& daemon) {
  const int code = FailCall(status, daemon);
  const std::string reason = ErrorReason(status);
  if (reason == "PROGRAM_NOT_FOUND") return kExitNotFound;
  if (reason == "PROGRAM_NOT_EXECUTABLE") return kExitNotExecutable;
  return code;
}

int CarryOutExec(const Endpoint& endpoint, const v1::ExecuteRequest& first,
                 ExecCallOptions options) {
  // ORDER: before the channel, whose threads inherit the signal mask.
  absl::StatusOr<std::unique_ptr<ExecSignals>> signals =
      ExecSignals::Start(options);
  if (!signals.ok()) return Fail(signals.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  if (options.attached) {
    options.terminal = HasTerminal(*daemon, options);
    if (options.terminal) options.forward_stdin = true;
  }
  if (options.terminal && options.forward_stdin && isatty(STDIN_FILENO) == 1) {
    const absl::Status entered = (*signals)->EnterTerminal();
    if (!entered.ok()) return Fail(entered);
  }
  OutputPrinter printer(STDOUT_FILENO, STDERR_FILENO);
  const absl::Time start = absl::Now();
  const CallEnd call = Talk(*daemon, first, options, **signals, printer);
  // ORDER: our lines need the terminal in its normal state.
  (*signals)->LeaveTerminal();
  return Conclude(*daemon, options, call, absl::Now() - start,
                  (*signals)->signal(), printer);
}

}  // namespace sandglass::client
