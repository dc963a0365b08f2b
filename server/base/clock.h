#ifndef SANDGLASS_SERVER_BASE_CLOCK_H_
#define SANDGLASS_SERVER_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include "absl/time/time.h"

namespace sandglass::server {

// Deadlines and durations are measured on the monotonic clock; the wall clock
// (absl::Time) may jump and is only for logs and for times that people read.
// A default-constructed time is the clock's zero, before everything that is
// ever measured.
using MonotonicTime = std::chrono::steady_clock::time_point;

inline constexpr MonotonicTime kNever = MonotonicTime::max();

inline MonotonicTime Now() { return std::chrono::steady_clock::now(); }

// `nanoseconds` of CLOCK_MONOTONIC, as os::MonotonicNanos() and init give them.
// steady_clock is that clock, too.
constexpr MonotonicTime FromNanos(int64_t nanoseconds) {
  static_assert(std::is_same_v<MonotonicTime::period, std::nano>);
  return MonotonicTime(std::chrono::nanoseconds(nanoseconds));
}

inline absl::Duration Between(MonotonicTime from, MonotonicTime to) {
  return absl::FromChrono(to - from);
}
inline absl::Duration Since(MonotonicTime then) { return Between(then, Now()); }
inline absl::Duration Until(MonotonicTime then) { return -Since(then); }

// kNever when the duration is infinite. `from` is no earlier than zero.
inline MonotonicTime After(MonotonicTime from, absl::Duration duration) {
  const auto length = absl::ToChronoNanoseconds(duration);
  return length > kNever - from ? kNever : from + length;
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_CLOCK_H_
