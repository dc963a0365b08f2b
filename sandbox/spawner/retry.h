#ifndef SANDGLASS_SANDBOX_SPAWNER_RETRY_H_
#define SANDGLASS_SANDBOX_SPAWNER_RETRY_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace sandglass::sandbox {

// For work that nobody waits for and that may fail again and again: each
// failure doubles the pause before the next try, and a success ends it. Times
// are those of CLOCK_MONOTONIC, in nanoseconds.
class Retry {
 public:
  static constexpr int64_t kMinPauseNanos = 10'000'000;
  static constexpr int64_t kMaxPauseNanos = 10'000'000'000;

  // Whether another try may be made now.
  bool Due(int64_t now) const { return now >= at_; }
  // The time of the next try.
  int64_t at() const { return at_; }

  // Notes a failure; `why` is kept until a success. Returns true when it is
  // worth reporting: the first failure after a success, and later one each time
  // that the pause has its greatest length.
  bool Failed(int64_t now, std::string why) {
    ++failures_;
    const bool first = pause_ == 0;
    pause_ = std::clamp(2 * pause_, kMinPauseNanos, kMaxPauseNanos);
    at_ = now + pause_;
    why_ = std::move(why);
    return first || pause_ == kMaxPauseNanos;
  }
  // Notes a success. Returns true when failures came before it.
  bool Succeeded() {
    why_.clear();
    at_ = 0;
    return std::exchange(pause_, 0) != 0;
  }

  // The number of failures since the start.
  uint64_t failures() const { return failures_; }
  // The reason of the last failure; empty unless the last try failed.
  const std::string& why() const { return why_; }

 private:
  int64_t at_ = 0;
  int64_t pause_ = 0;
  uint64_t failures_ = 0;
  std::string why_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_RETRY_H_
