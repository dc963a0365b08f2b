#ifndef SANDGLASS_SERVER_BASE_CLOCK_H_
#define SANDGLASS_SERVER_BASE_CLOCK_H_

#include <chrono>

#include "absl/time/time.h"

namespace sandglass::server {

// Deadlines and durations are measured on the monotonic clock; the wall clock
// is only for logs and for times that people read.
using Monotonic = std::chrono::steady_clock;
using MonotonicTime = Monotonic::time_point;

inline absl::Duration Since(MonotonicTime then) {
  return absl::FromChrono(Monotonic::now() - then);
}
inline absl::Duration Until(MonotonicTime then) { return -Since(then); }

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_CLOCK_H_
