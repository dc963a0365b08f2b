#include "server/daemon/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/daemon/supervisor.h"

namespace sandglass::server {
namespace {

// Beats per time for which the manager waits, so that a late beat is not yet
// too late.
constexpr int kBeatsInTime = 4;

template <typename Number>
std::optional<Number> FromEnvironment(const char* name) {
  // This is safe because nothing in this process changes its environment.
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  Number number = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

}  // namespace

std::optional<absl::Duration> WatchdogTime() {
  const auto pid = FromEnvironment<int64_t>("WATCHDOG_PID");
  // The environment of a supervised daemon was meant for its parent.
  if (pid && *pid != ::getpid() && *pid != ::getppid()) return std::nullopt;
  const auto microseconds = FromEnvironment<int64_t>("WATCHDOG_USEC");
  if (!microseconds || *microseconds <= 0) return std::nullopt;
  return absl::Microseconds(*microseconds);
}

Watchdog::Watchdog(std::optional<absl::Duration> time, Ask ask,
                   std::function<void()> say)
    : interval_(time ? *time / kBeatsInTime : absl::InfiniteDuration()),
      ask_(std::move(ask)),
      say_(std::move(say)) {}

void Watchdog::Beat(MonotonicTime now) {
  if (interval_ == absl::InfiniteDuration()) return;
  if (asked_ && absl::FromChrono(now - *asked_) < interval_) return;
  if (!*answered_) {
    if (!late_) Log(LogLevel::kWarning, "watchdog_no_answer");
    late_ = true;
    return;
  }
  late_ = false;
  say_();
  *answered_ = false;
  asked_ = now;
  ask_([answered = answered_] { *answered = true; });
}

Watchdog WatchOver(CallThreads& threads, const RunDispatcher& runs,
                   Heartbeat* supervisor) {
  std::optional<absl::Duration> time = WatchdogTime();
  const bool manager_asks = time.has_value();
  if (supervisor != nullptr) {
    time = std::min(time.value_or(kSupervisorsPatience), kSupervisorsPatience);
  }
  return Watchdog(
      time,
      [&threads, &runs](const Watchdog::Done& done) {
        threads.Urgent([&runs, done] {
          // This returns only if the lock of the runs can be had.
          static_cast<void>(runs.idle());
          done();
        });
      },
      [manager_asks, supervisor] {
        if (manager_asks) NotifyServiceManager("WATCHDOG=1");
        if (supervisor != nullptr) supervisor->Beat();
      });
}

}  // namespace sandglass::server
