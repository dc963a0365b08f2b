#include "client/run/run_call.h"

#include <unistd.h>

#include <random>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/connection/error_text.h"
#include "client/connection/preparing_wait.h"
#include "client/run/consent.h"
#include "client/run/output_printer.h"
#include "client/run/rich_printer.h"
#include "client/run/verdict_line.h"
#include "client/terminal/inline_image.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

// How a call ended.
struct CallEnd {
  std::optional<v1::RunCodeResponse> response;
  grpc::Status status;
  int output_error = 0;  // errno of the write that made us give up
  std::string run_id;    // as far as it is known
};

int PrintAnswer(const v1::RunCodeResponse& response, OutputPrinter& printer,
                RichPrinter& rich) {
  int error = 0;
  // A compiler's output is shown only if it is the answer.
  if (response.has_compile() &&
      response.compile().outcome() != v1::OUTCOME_OK) {
    error = printer.ExtraStderr(response.compile().stdout().data());
    if (error == 0) {
      error = printer.ExtraStderr(response.compile().stderr().data());
    }
  }
  return error != 0 ? error : rich.Answer(response);
}

CallEnd CallUnary(const Daemon& daemon, const v1::RunCodeRequest& request,
                  InterruptWatcher& interrupts) {
  CallEnd end;
  const WaitLine waiting("waiting for the run's end");
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts, context);
  v1::RunCodeResponse response;
  end.status = daemon.stub->RunCode(&context, request, &response);
  if (end.status.ok()) end.response = std::move(response);
  return end;
}

// Asks the daemon to end a run; the answer still comes.
bool CancelRun(const Daemon& daemon, const std::string& run_id) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::CancelRunRequest request;
  request.set_run_id(run_id);
  v1::CancelRunResponse response;
  return daemon.stub->CancelRun(&context, request, &response).ok();
}

CallEnd CallStreaming(const Daemon& daemon, v1::RunCodeRequest request,
                      InterruptWatcher& interrupts, RichPrinter& printer) {
  CallEnd end;
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts, context);
  const bool in_session = !request.session_id().empty();
  v1::StreamRunCodeRequest wrapped;
  *wrapped.mutable_run() = std::move(request);
  const auto reader = daemon.stub->StreamRunCode(&context, wrapped);
  // It may be queued, or compiled.
  WaitLine waiting("waiting for the run to start");
  v1::StreamRunCodeResponse event;
  while (reader->Read(&event)) {
    waiting.End();
    // After a cancellation the rest is read and dropped, because Finish needs
    // the stream's end.
    if (end.output_error != 0) continue;
    if (event.has_started()) {
      end.run_id = event.started().run_id();
      // An interrupted cell reports where it was and what became of its kernel.
      // A run without a session is killed and has nothing to report.
      if (in_session) {
        interrupts.StopBy([&daemon, run_id = end.run_id] {
          return CancelRun(daemon, run_id);
        });
      }
    }
    if (event.has_chunk()) {
      end.output_error = printer.Chunk(
          event.chunk().stream(), event.chunk().offset(), event.chunk().data());
    }
    if (event.has_library_progress()) {
      end.output_error = printer.Notice(absl::StrCat(
          "libraries: ", VisibleText(event.library_progress().line())));
    }
    if (event.has_rich()) end.output_error = printer.Result(event.rich());
    if (end.output_error != 0) context.TryCancel();
    if (event.has_result()) {
      end.response = std::move(*event.mutable_result());
    }
  }
  end.status = reader->Finish();
  return end;
}

// What the answer omits of the output was printed when it was streamed.
void DropTruncationHint(v1::RunCodeResponse& response) {
  auto& hints = *response.mutable_hints();
  for (int i = hints.size() - 1; i >= 0; --i) {
    if (hints[i].id() == "output-truncated") hints.DeleteSubrange(i, 1);
  }
}

// Writes the files that came back. Returns false when a requested file isn't
// there in the end.
bool WriteFiles(const v1::RunCodeResponse& response, const FetchWriter& writer,
                OutputPrinter& printer, RichPrinter& rich) {
  bool all = true;
  for (const v1::OutputFile& file : response.files()) {
    const absl::Status written = writer.Write(file);
    if (written.ok()) {
      rich.Picture(file.content());
      continue;
    }
    all = false;
    // The message may quote a part of the path.
    printer.Line(absl::StrCat("sandglass: fetch ", VisibleText(file.path()),
                              ": ", VisibleText(written.message())));
  }
  return all;
}

int Conclude(const CallEnd& end, const RunOptions& options,
             const std::optional<FetchWriter>& writer, int signal,
             OutputPrinter& printer, RichPrinter& rich) {
  const v1::RunCodeResponse& response = *end.response;
  int output_error = 0;
  if (options.json) {
    const int printed = PrintJson(response);
    if (printed != kExitOk) return printed;
  } else {
    output_error = PrintAnswer(response, printer, rich);
  }
  if (output_error == 0) output_error = printer.Finish();
  if (output_error != 0) return OutputFailure(output_error);
  const bool fetched =
      !writer.has_value() || WriteFiles(response, *writer, printer, rich);
  const bool good = response.outcome() == v1::OUTCOME_OK;
  if (!options.json && !(good && options.quiet)) {
    printer.Line(VerdictLine(response, printer.colour()));
    for (const std::string& note : NoteLines(response)) printer.Line(note);
    for (const std::string& line : FindingLines(response)) printer.Line(line);
  }
  if (!options.json && options.verbose) {
    for (const std::string& line : DetailLines(response)) printer.Line(line);
  }
  if (!options.json) {
    for (const std::string& line : LossLines(response)) printer.Line(line);
  }
  // The run was stopped from here.
  if (response.outcome() == v1::OUTCOME_CANCELLED && signal != 0) {
    return kExitSignalBase + signal;
  }
  const int code = ExitCodeFor(response);
  const bool all_there = fetched && rich.all_saved();
  return code == kExitOk && !all_there ? kExitError : code;
}

// Over a network, a connection may break while the daemon goes on. An id makes
// it safe to ask again: the daemon then joins the run that it has, or answers
// from memory. Programs by themselves only: if the daemon noticed the break, it
// has stopped the run and begins it anew, which is nothing to a jail that is
// thrown away, but not to a session whose state a cell has changed.
void MakeRepeatable(const Daemon& daemon, v1::RunCodeRequest& request) {
  if (!daemon.reconnects() || !request.session_id().empty() ||
      !request.request_id().empty()) {
    return;
  }
  std::random_device random;
  request.set_request_id(absl::StrFormat("sandglass-%08x%08x%08x%08x", random(),
                                         random(), random(), random()));
}

// Whether the call may be made once more, after a pause. Not when something of
// it was shown: a second answer would show that again.
bool MayRepeat(const Daemon& daemon, const v1::RunCodeRequest& request,
               const CallEnd& end, int tries) {
  constexpr int kMostTries = 4;
  if (!daemon.reconnects() || !IsConnectionLoss(end.status) ||
      request.request_id().empty() || !request.session_id().empty() ||
      !end.run_id.empty() || tries >= kMostTries) {
    return false;
  }
  absl::SleepFor(absl::Milliseconds(200) * (1 << tries));
  return true;
}

// Whether the person at this terminal may allow the run to start.
bool MayAskHere(const v1::RunCodeResponse& response,
                const RunOptions& options) {
  return response.outcome() == v1::OUTCOME_NEEDS_APPROVAL &&
         response.approval().self_approval() && !options.json && CanAsk();
}

}  // namespace

int CarryOutRun(const Daemon& daemon, v1::RunCodeRequest request,
                const RunOptions& options,
                const std::optional<FetchWriter>& writer, ResultFiles& results,
                InterruptWatcher& interrupts) {
  const absl::StatusOr<InlineImages> images = InlineImages::For(STDOUT_FILENO);
  if (!images.ok()) return Fail(images.status());
  OutputPrinter printer(STDOUT_FILENO, STDERR_FILENO);
  RichPrinter rich(printer, results, options.json ? InlineImages() : *images);
  const absl::Time start = absl::Now();
  const bool stream = options.stream && !options.json;
  PreparingWait wait(
      [&](const std::string& line) {
        printer.Line(absl::StrCat("sandglass: ", line));
      },
      [&] { return interrupts.signal() != 0; });
  MakeRepeatable(daemon, request);
  CallEnd end;
  int tries = 0;
  do {
    end = stream ? CallStreaming(daemon, request, interrupts, rich)
                 : CallUnary(daemon, request, interrupts);
    ++tries;
  } while (wait.Again(end.status) || (interrupts.signal() == 0 &&
                                      MayRepeat(daemon, request, end, tries)));
  if (end.response) {
    if (MayAskHere(*end.response, options)) {
      const std::optional<int> code =
          AskForConsent(daemon, *end.response, request, interrupts);
      if (code) return *code;
      return CarryOutRun(daemon, std::move(request), options, writer, results,
                         interrupts);
    }
    if (stream && !end.response->replayed()) DropTruncationHint(*end.response);
    return Conclude(end, options, writer, interrupts.signal(), printer, rich);
  }
  if (end.output_error != 0) return OutputFailure(end.output_error);
  rich.Finish();
  printer.Finish();
  if (const int signal = interrupts.signal(); signal != 0) {
    printer.Line(InterruptedLine(signal, absl::Now() - start, end.run_id,
                                 printer.colour()));
    return kExitSignalBase + signal;
  }
  if (end.status.ok()) {
    return Fail(absl::InternalError(
        "the daemon ended the call without an answer (a bug of the daemon)"));
  }
  // An unfinished line of output is ended first.
  printer.Line(
      absl::StripSuffix(RpcErrorText(end.status, daemon.address), "\n"));
  return kExitError;
}

}  // namespace sandglass::client
