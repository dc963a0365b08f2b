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

// How often the service manager wants to hear that this process works: the time
// that sd_watchdog_enabled(3) reads, for this process or its supervisor. Absent
// when it doesn't want to hear that.
std::optional<absl::Duration> WatchdogTime();

// Tells the service manager that this process works, as long as that is true:
// the loop that calls Beat goes on, and so does another thread, which is asked
// to do something each time. If the other thread hasn't answered, nothing is
// told until it does. Use it from one thread.
class Watchdog {
 public:
  using Done = std::function<void()>;
  // Makes another thread call `done`; must not block.
  using Ask = std::function<void(Done done)>;

  // `time` is that of WatchdogTime; without one this does nothing.
  Watchdog(std::optional<absl::Duration> time, Ask ask,
           std::function<void()> say);

  // The longest time between two calls of Beat; infinite when none is needed.
  absl::Duration interval() const { return interval_; }
  void Beat(MonotonicTime now = Now());

 private:
  const absl::Duration interval_;
  const Ask ask_;
  const std::function<void()> say_;
  std::optional<MonotonicTime> asked_;
  bool late_ = false;
  // Outlives this object, for an answer that comes afterwards.
  const std::shared_ptr<std::atomic<bool>> answered_ =
      std::make_shared<std::atomic<bool>>(true);
};

// A watchdog for the daemon's main loop. The other thread is one of those that
// serve calls, and it also has to get the lock that guards the runs. Tells the
// service manager and the supervisor, unless that is null. All arguments must
// outlive it.
Watchdog WatchOver(CallThreads& threads, const RunDispatcher& runs,
                   Heartbeat* supervisor);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_WATCHDOG_H_
