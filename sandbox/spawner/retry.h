#ifndef SANDGLASS_SANDBOX_SPAWNER_RETRY_H_
#define SANDGLASS_SANDBOX_SPAWNER_RETRY_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace sandglass::sandbox {

// Work that nobody waits for and that may fail again and again: each failure
// doubles the pause before the next try, a success ends it. Times are of
// CLOCK_MONOTONIC, in nanoseconds.
class Retry {
 public:
  static constexpr int64_t kLeastPauseNanos = 10'000'000;
  static constexpr int64_t kMostPauseNanos = 10'000'000'000;

  // Whether it is worth a try now.
  bool Due(int64_t now) const { return now >= at_; }
  // When it is next.
  int64_t at() const { return at_; }

  // `why` is kept until a success. True when this is news: the first failure
  // after a success, and later one each time that the pause is at its longest.
  bool Failed(int64_t now, std::string why) {
    ++failures_;
    const bool first = pause_ == 0;
    pause_ = std::clamp(2 * pause_, kLeastPauseNanos, kMostPauseNanos);
    at_ = now + pause_;
    why_ = std::move(why);
    return first || pause_ == kMostPauseNanos;
  }
  // True when failures came before.
  bool Succeeded() {
    why_.clear();
    at_ = 0;
    return std::exchange(pause_, 0) != 0;
  }

  // Since the start.
  uint64_t failures() const { return failures_; }
  // Empty unless the last try failed.
  const std::string& why() const { return why_; }

 private:
  int64_t at_ = 0;
  int64_t pause_ = 0;
  uint64_t failures_ = 0;
  std::string why_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_RETRY_H_
