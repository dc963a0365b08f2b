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

// Times of runs made one after another, as their caller saw them.
struct RepeatSummary {
  std::vector<absl::Duration> times;
  absl::Duration total;
  std::map<std::string, int> outcomes;  // by OutcomeName
};

// Value below which `percent` of the sorted values lie, by nearest rank: an
// element of `sorted`, never something between two. Zero when it is empty.
absl::Duration Percentile(const std::vector<absl::Duration>& sorted,
                          double percent);

// One JSON object on a line: n, p50_ms, p99_ms, min_ms, max_ms, mean_ms,
// runs_per_s and outcomes.
std::string SummaryJson(const RepeatSummary& summary);
// The same for people.
std::string SummaryText(const RepeatSummary& summary);

// Makes options.repeat unary runs over the daemon's one channel and prints the
// summary instead of their output. Every run counts, the first too. Exits with
// 0 when all were OK, else with the code of the first that was not; the first
// failed call ends it with kExitError.
int RepeatCommand(const Daemon& daemon, const v1::RunCodeRequest& request,
                  const RunOptions& options, InterruptWatcher& interrupts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_REPEAT_COMMAND_H_
