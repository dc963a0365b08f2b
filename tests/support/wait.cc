#include "tests/support/wait.h"

#include "absl/time/clock.h"
#include "tests/support/slowdown.h"

namespace sandglass::testing {

bool WaitUntil(const std::function<bool()>& predicate, absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout * Slowdown();
  while (!predicate()) {
    if (absl::Now() >= end) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

}  // namespace sandglass::testing
