#include "client/run_command.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/daemon.h"
#include "client/error_text.h"
#include "client/exit_codes.h"
#include "client/fetch_writer.h"
#include "client/interrupt_watcher.h"
#include "client/json_text.h"
#include "client/language_guess.h"
#include "client/output_printer.h"
#include "client/repeat_command.h"
#include "client/run_request.h"
#include "client/terminal_filter.h"
#include "client/verdict_line.h"

namespace sandglass::client {
namespace {

// How a call came out.
struct CallEnd {
  std::optional<v1::RunCodeResponse> response;
  grpc::Status status;
  int output_error = 0;  // errno of the write that made us give up
  std::string run_id;    // as far as it was known
};

int PrintResult(const v1::RunCodeResponse& response, OutputPrinter& printer) {
  int error = 0;
  // A compiler's output belongs on the screen only when it is the answer.
  if (response.has_compile() &&
      response.compile().outcome() != v1::OUTCOME_OK) {
    error = printer.ExtraStderr(response.compile().stdout().data());
    if (error == 0) {
      error = printer.ExtraStderr(response.compile().stderr().data());
    }
  }
  if (error == 0) {
    error = printer.Output(v1::OUTPUT_STREAM_STDOUT, response.stdout());
  }
  if (error == 0) {
    error = printer.Output(v1::OUTPUT_STREAM_STDERR, response.stderr());
  }
  return error;
}

CallEnd CallUnary(const Daemon& daemon, const v1::RunCodeRequest& request,
                  InterruptWatcher& interrupts) {
  CallEnd end;
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts, context);
  v1::RunCodeResponse response;
  end.status = daemon.stub->RunCode(&context, request, &response);
  if (end.status.ok()) end.response = std::move(response);
  return end;
}

CallEnd CallStreaming(const Daemon& daemon, v1::RunCodeRequest request,
                      InterruptWatcher& interrupts, OutputPrinter& printer) {
  CallEnd end;
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts, context);
  v1::StreamRunCodeRequest wrapped;
  *wrapped.mutable_run() = std::move(request);
  const auto reader = daemon.stub->StreamRunCode(&context, wrapped);
  v1::StreamRunCodeResponse event;
  while (reader->Read(&event)) {
    // After a cancel the rest is only drained: Finish needs the stream's end.
    if (end.output_error != 0) continue;
    if (event.has_started()) end.run_id = event.started().run_id();
    if (event.has_chunk()) {
      end.output_error = printer.Chunk(
          event.chunk().stream(), event.chunk().offset(), event.chunk().data());
      if (end.output_error != 0) context.TryCancel();
    }
    if (event.has_result()) {
      end.response = std::move(*event.mutable_result());
    }
  }
  end.status = reader->Finish();
  return end;
}

// Writes the files that came back; false when one that was asked for is not
// there in the end.
bool WriteFiles(const v1::RunCodeResponse& response, const FetchWriter& writer,
                OutputPrinter& printer) {
  bool all = true;
  for (const v1::OutputFile& file : response.files()) {
    const absl::Status written = writer.Write(file);
    if (written.ok()) continue;
    all = false;
    // The message may quote a part of the path.
    printer.Line(absl::StrCat("sandglass: fetch ", VisibleText(file.path()),
                              ": ", VisibleText(written.message())));
  }
  return all;
}

int Conclude(const CallEnd& end, const RunOptions& options,
             const std::optional<FetchWriter>& writer, OutputPrinter& printer) {
  const v1::RunCodeResponse& response = *end.response;
  int output_error = 0;
  if (options.json) {
    absl::StatusOr<std::string> json = JsonText(response);
    if (!json.ok()) return Fail(json.status());
    const int printed = PrintText(*json);
    if (printed != kExitOk) return printed;
  } else {
    output_error = PrintResult(response, printer);
  }
  if (output_error == 0) output_error = printer.Finish();
  if (output_error != 0) return OutputFailure(output_error);
  const bool fetched =
      !writer.has_value() || WriteFiles(response, *writer, printer);
  const bool good = response.outcome() == v1::OUTCOME_OK;
  if (!options.json && !(good && options.quiet)) {
    printer.Line(VerdictLine(response, printer.colour()));
    for (const std::string& note : NoteLines(response)) printer.Line(note);
  }
  const int code = ExitCodeFor(response);
  return code == kExitOk && !fetched ? kExitError : code;
}

// Asks the daemon for the language of a program that came without --lang.
// Returns kExitOk or what to exit with.
int InferLanguage(const Daemon& daemon, const RunOptions& options,
                  InterruptWatcher& interrupts, v1::RunCodeRequest& request) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  const InterruptWatcher::Scope scope(interrupts, context);
  v1::GetServerInfoResponse info;
  const grpc::Status status =
      daemon.stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
  if (!status.ok() && interrupts.signal() != 0) {
    return kExitSignalBase + interrupts.signal();
  }
  if (!status.ok()) return FailCall(status, daemon);
  const absl::StatusOr<std::string> language =
      GuessLanguage(options.file.value_or(""), request.code(), info);
  if (!language.ok()) return Fail(language.status());
  request.set_language(*language);
  return kExitOk;
}

}  // namespace

int RunCommand(const std::string& address, const RunOptions& options) {
  absl::StatusOr<v1::RunCodeRequest> request = BuildRunRequest(options);
  if (!request.ok()) return Fail(request.status());
  std::optional<FetchWriter> writer;
  if (!options.fetch.empty() && (!options.json || options.fetch_dir)) {
    // With globs the program chooses the names: it must not choose which
    // files of a directory that nobody named are lost.
    absl::StatusOr<FetchWriter> opened =
        FetchWriter::Open(options.fetch_dir.value_or("."),
                          options.fetch_dir ? FetchWriter::Existing::kReplace
                                            : FetchWriter::Existing::kKeep);
    if (!opened.ok()) return Fail(opened.status());
    writer = *std::move(opened);
  }

  // ORDER: before the channel, whose threads inherit the signal mask; after
  // the inputs, so that Ctrl-C ends a wait for standard input as usual.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(address);
  if (!daemon.ok()) return Fail(daemon.status());
  if (request->language().empty()) {
    const int code = InferLanguage(*daemon, options, **interrupts, *request);
    if (code != kExitOk) return code;
  }
  if (options.repeat > 0) {
    return RepeatCommand(*daemon, *request, options, **interrupts);
  }

  OutputPrinter printer(STDOUT_FILENO, STDERR_FILENO);
  const absl::Time start = absl::Now();
  const bool stream = options.stream && !options.json;
  const CallEnd end = stream ? CallStreaming(*daemon, *std::move(request),
                                             **interrupts, printer)
                             : CallUnary(*daemon, *request, **interrupts);
  if (end.response) return Conclude(end, options, writer, printer);
  if (end.output_error != 0) return OutputFailure(end.output_error);
  printer.Finish();
  if (const int signal = (*interrupts)->signal(); signal != 0) {
    printer.Line(InterruptedLine(signal, absl::Now() - start, end.run_id,
                                 printer.colour()));
    return kExitSignalBase + signal;
  }
  if (end.status.ok()) {
    return Fail(absl::InternalError(
        "the daemon ended the call without an answer (a bug of the daemon)"));
  }
  // A started line of output is closed first.
  printer.Line(
      absl::StripSuffix(RpcErrorText(end.status, daemon->address), "\n"));
  return kExitError;
}

}  // namespace sandglass::client
