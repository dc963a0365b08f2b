#ifndef SANDGLASS_BENCH_CLOSED_LOOP_H_
#define SANDGLASS_BENCH_CLOSED_LOOP_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/contenders.h"

namespace sandglass::bench {

struct LoopOptions {
  int in_flight = 1;
  // Runs that end before this is over don't count.
  absl::Duration warm_up;
  absl::Duration window;  // after it no run starts
};

struct LoopResult {
  std::vector<Sample> samples;  // of runs that ended after the warm-up
  size_t failed = 0;            // at any time
  std::string failure;          // the first
  size_t runs = 0;              // at any time, warm-up and last ones included
  absl::Duration time;          // from the first start to the last end
  absl::Duration client_cpu;    // of this process in all, per run
};

// Keeps so many runs under way until the window is over, each worker starting
// the next as soon as its last has ended, and waits for the last ones. `run`
// is called with the worker's number, from several threads.
LoopResult RunLoop(const LoopOptions& options,
                   const std::function<absl::StatusOr<Sample>(int)>& run);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_CLOSED_LOOP_H_
