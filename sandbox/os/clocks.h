#ifndef SANDGLASS_SANDBOX_OS_CLOCKS_H_
#define SANDGLASS_SANDBOX_OS_CLOCKS_H_

#include <time.h>

#include "absl/time/time.h"

namespace sandglass::os {

// CLOCK_MONOTONIC, for deadlines: nobody sets it. To be compared only with
// itself.
inline absl::Time SteadyNow() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

// CLOCK_REALTIME as it is this moment. absl::Now() counts processor cycles and
// looks at the clock every two seconds, so that just after the clock was set it
// still tells the time before (absl/time/clock.cc, kMinNSBetweenSamples).
inline absl::Time WallNow() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_CLOCKS_H_
