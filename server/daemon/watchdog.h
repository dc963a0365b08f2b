#ifndef SANDGLASS_SERVER_DAEMON_WATCHDOG_H_
#define SANDGLASS_SERVER_DAEMON_WATCHDOG_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "server/base/call_threads.h"
#include "server/base/clock.h"
#include "server/daemon/heartbeat.h"
#include "server/run/run_dispatcher.h"

namespace sandglass::server {

// How often the service manager wants to hear that this process works: what
// sd_watchdog_enabled(3) reads, of this process or of its supervisor. Absent:
// it doesn't ask.
std::optional<absl::Duration> WatchdogTime();

// Says so as long as it is true: the loop that calls Beat goes on, and so does
// some other thread, which is asked to do something each time. Once the other
// has not answered nothing is said until it does. For one thread.
class Watchdog {
 public:
  using Done = std::function<void()>;
  // Has another thread call `done`; must not wait.
  using Ask = std::function<void(Done done)>;

  // `time` as of WatchdogTime; with none it does nothing.
  Watchdog(std::optional<absl::Duration> time, Ask ask,
           std::function<void()> say);

  // To be called at least this often; infinite: not at all.
  absl::Duration interval() const { return interval_; }
  void Beat(MonotonicTime now = Monotonic::now());

 private:
  const absl::Duration interval_;
  const Ask ask_;
  const std::function<void()> say_;
  std::optional<MonotonicTime> asked_;
  bool late_ = false;
  // Outlives this for an answer that comes afterwards.
  const std::shared_ptr<std::atomic<bool>> answered_ =
      std::make_shared<std::atomic<bool>>(true);
};

// For the daemon's main loop: the other thread is one of those that serve
// calls, which also has to get what guards the runs. Tells the service manager
// and the supervisor, unless that is null. All must outlive it.
Watchdog WatchOver(CallThreads& threads, const RunDispatcher& runs,
                   Heartbeat* supervisor);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_WATCHDOG_H_
