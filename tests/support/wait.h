#ifndef SANDGLASS_TESTS_SUPPORT_WAIT_H_
#define SANDGLASS_TESTS_SUPPORT_WAIT_H_

#include <functional>

#include "absl/time/time.h"

namespace sandglass::testing {

// Asks `predicate` every few milliseconds until it says true; false when
// `timeout` (times Slowdown()) passed first. The predicate is asked at least
// once.
bool WaitUntil(const std::function<bool()>& predicate, absl::Duration timeout);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_WAIT_H_
