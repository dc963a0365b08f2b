#ifndef SANDGLASS_SERVER_BASE_MONOTONIC_H_
#define SANDGLASS_SERVER_BASE_MONOTONIC_H_

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "sandbox/os/process.h"

namespace sandglass::server {

// A point of CLOCK_MONOTONIC. absl::Time is the wall clock, which may jump.
using Instant = int64_t;

inline constexpr Instant kNever = std::numeric_limits<Instant>::max();

inline Instant Now() { return os::MonotonicNanos(); }
inline absl::Duration Between(Instant from, Instant to) {
  return absl::Nanoseconds(to - from);
}
// kNever when the duration is infinite.
inline Instant After(Instant from, absl::Duration duration) {
  const int64_t nanos = absl::ToInt64Nanoseconds(duration);
  return nanos > kNever - from ? kNever : from + nanos;
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_MONOTONIC_H_
