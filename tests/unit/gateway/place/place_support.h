// What the tests of gateway/place share: a node that can do all that is asked
// for, and times.
#ifndef SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_PLACE_SUPPORT_H_
#define SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_PLACE_SUPPORT_H_

#include <chrono>
#include <string>

#include "gateway/place/node_load.h"
#include "gateway/place/placement.h"
#include "server/base/clock.h"

namespace sandglass::gateway {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

// So many milliseconds after the tests' beginning.
inline server::MonotonicTime AtMs(int64_t ms) {
  return server::MonotonicTime() + std::chrono::hours(1) +
         std::chrono::milliseconds(ms);
}

// With eight slots and as many sessions, none taken. Heard at AtMs(`ms`).
inline NodeLoad IdleNode(const std::string& name, int64_t ms = 0) {
  NodeLoad load;
  load.name = name;
  load.instance = "first";
  load.heard = load.as_of = AtMs(ms);
  load.max_running = 8;
  load.max_queued = 16;
  load.memory_budget = 1024 * kMiB;
  load.max_sessions = 8;
  load.session_memory_left = 1024 * kMiB;
  load.offers.languages = {"bash", "python"};
  load.offers.profiles = {"default", "large"};
  load.offers.images = {"host"};
  return load;
}

// A run that every idle node can take.
inline Wish PythonRun() {
  return {.tenant = "team",
          .language = "python",
          .profile = "default",
          .image = "host",
          .memory_bytes = 16 * kMiB};
}

inline Wish PythonSession() {
  Wish wish = PythonRun();
  wish.session = true;
  return wish;
}

}  // namespace sandglass::gateway

#endif  // SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_PLACE_SUPPORT_H_
