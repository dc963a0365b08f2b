#ifndef SANDGLASS_CLIENT_RUN_REPEAT_COMMAND_H_
#define SANDGLASS_CLIENT_RUN_REPEAT_COMMAND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/connection/daemon.h"
#include "client/flags/options.h"
#include "client/terminal/interrupt_watcher.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// The times of consecutive runs, as seen by their caller.
struct RepeatSummary {
  std::vector<absl::Duration> times;
  absl::Duration total;
  std::map<std::string, int> outcomes;  // by OutcomeName
};

// The value below which `percent` of the sorted values lie, by nearest rank:
// always an element of `sorted`, never an interpolation. Zero when it is empty.
absl::Duration Percentile(const std::vector<absl::Duration>& sorted,
                          double percent);

// One JSON object on a line: n, p50_ms, p99_ms, min_ms, max_ms, mean_ms,
// runs_per_s and outcomes.
std::string SummaryJson(const RepeatSummary& summary);
// The same for people.
std::string SummaryText(const RepeatSummary& summary);

// Makes options.repeat unary runs over the daemon's one channel and prints the
// summary instead of their output. Every run counts, including the first.
// Returns 0 when all were OK, else the code of the first that was not; a failed
// call ends it with kExitError.
int RepeatCommand(const Daemon& daemon, const v1::RunCodeRequest& request,
                  const RunOptions& options, InterruptWatcher& interrupts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_REPEAT_COMMAND_H_
