#ifndef SANDGLASS_SANDBOX_OS_CLOCKS_H_
#define SANDGLASS_SANDBOX_OS_CLOCKS_H_

#include <time.h>

#include "absl/time/time.h"

namespace sandglass::os {

// The time of CLOCK_MONOTONIC, for deadlines: nobody can set this clock.
// Compare it only with other values of this function.
inline absl::Time SteadyNow() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

// The time of CLOCK_REALTIME at this moment. absl::Now() counts processor
// cycles and reads the clock only every two seconds, so that it goes on
// returning the old time for a while after the clock was set
// (absl/time/clock.cc, kMinNSBetweenSamples).
inline absl::Time WallNow() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_CLOCKS_H_
