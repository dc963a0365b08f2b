#include "client/run/run_command.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "client/base/exit_codes.h"
#include "client/connection/daemon.h"
#include "client/run/fetch_writer.h"
#include "client/run/language_guess.h"
#include "client/run/repeat_command.h"
#include "client/run/result_files.h"
#include "client/run/run_call.h"
#include "client/run/run_request.h"
#include "client/terminal/interrupt_watcher.h"

namespace sandglass::client {
namespace {

// Asks the daemon for the language of a program that was given without --lang.
// Returns kExitOk or the exit code.
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

int RunCommand(const Endpoint& endpoint, const RunOptions& options) {
  absl::StatusOr<v1::RunCodeRequest> request = BuildRunRequest(options);
  if (!request.ok()) return Fail(request.status());
  std::optional<FetchWriter> writer;
  if (!options.fetch.empty() && (!options.json || options.fetch_dir)) {
    // With glob patterns the program chooses the names: it must not choose
    // which files are replaced in a directory that nobody named.
    absl::StatusOr<FetchWriter> opened = FetchWriter::Open(
        options.fetch_dir.value_or("."),
        options.fetch_dir ? ExistingFile::kReplace : ExistingFile::kKeep);
    if (!opened.ok()) return Fail(opened.status());
    writer = *std::move(opened);
  }
  absl::StatusOr<ResultFiles> results = ResultFiles::Open(options.results_dir);
  if (!results.ok()) return Fail(results.status());

  // ORDER: before the channel, whose threads inherit the signal mask; after the
  // inputs, so that Ctrl-C ends a wait for standard input in the usual way.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  if (request->language().empty()) {
    const int code = InferLanguage(*daemon, options, **interrupts, *request);
    if (code != kExitOk) return code;
  }
  if (options.repeat > 0) {
    return RepeatCommand(*daemon, *request, options, **interrupts);
  }

  return CarryOutRun(*daemon, *std::move(request), options, writer, *results,
                     **interrupts);
}

}  // namespace sandglass::client
