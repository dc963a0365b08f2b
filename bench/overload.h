#ifndef SANDGLASS_BENCH_OVERLOAD_H_
#define SANDGLASS_BENCH_OVERLOAD_H_

#include <string>

#include "absl/time/time.h"
#include "bench/overload_report.h"

namespace sandglass::bench {

struct OverloadOptions {
  std::string address;
  double factor = 10;
  absl::Duration measure = absl::Seconds(5);  // of the capacity
  absl::Duration time = absl::Minutes(1);
};

// Measures how many runs a second the daemon does when each of eight starts as
// the last has ended, and then makes calls at `factor` times that rate, by the
// clock, whether or not the earlier ones were answered. Over eight connections.
OverloadReport MeasureOverload(const OverloadOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_OVERLOAD_H_
