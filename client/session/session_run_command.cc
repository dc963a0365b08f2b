#include "client/session/session_run_command.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "client/connection/daemon.h"
#include "client/run/result_files.h"
#include "client/run/run_call.h"
#include "client/run/run_request.h"
#include "client/terminal/interrupt_watcher.h"

namespace sandglass::client {

int SessionRunCommand(const Endpoint& endpoint,
                      const SessionRunOptions& options) {
  absl::StatusOr<v1::RunCodeRequest> request = BuildRunRequest(options.run);
  if (!request.ok()) return Fail(request.status());
  absl::StatusOr<ResultFiles> results =
      ResultFiles::Open(options.run.results_dir);
  if (!results.ok()) return Fail(results.status());
  // ORDER: before the channel, whose threads inherit the signal mask; after the
  // inputs, so that Ctrl-C ends a wait for standard input in the usual way.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  return CarryOutRun(*daemon, *std::move(request), options.run, std::nullopt,
                     *results, **interrupts);
}

}  // namespace sandglass::client
