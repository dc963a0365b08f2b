#ifndef SANDGLASS_SERVER_BASE_EVENT_LOOP_H_
#define SANDGLASS_SERVER_BASE_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/os/fd.h"
#include "server/base/monotonic.h"

namespace sandglass::server {

// One thread that waits on many descriptors and times, and does what it is
// handed, in order. Whatever it does must not wait. Only Post may be called on
// other threads.
class EventLoop {
 public:
  using Task = absl::AnyInvocable<void()>;
  // Bits as of epoll(7).
  using Watcher = std::function<void(uint32_t events)>;

  EventLoop() = default;
  // Does what was posted, then ends.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Call once, before all else. INTERNAL when there are no descriptors left.
  absl::Status Start();

  void Post(Task task) ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `watcher` as long as there are `events`, or an error or hangup, until
  // Forget or the end of the loop. The descriptor must stay open as long. Gives
  // the number of the watch, never 0; 0 when the kernel refuses.
  uint64_t Watch(int fd, uint32_t events, Watcher watcher);
  void Forget(uint64_t watch);

  // Once. Gives the number of the timer, never 0.
  uint64_t CallAt(Instant when, std::function<void()> call);
  void Cancel(uint64_t timer);

 private:
  struct Watched {
    int fd;
    Watcher watcher;
  };

  // False with errno.
  bool Add(int fd, uint32_t events, uint64_t watch) const;
  void AddLater(uint32_t events, uint64_t watch);
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  // False when there is nothing more to do for good.
  bool DoPosted() ABSL_LOCKS_EXCLUDED(mutex_);
  void DoTimers();
  void Wait();

  os::Fd epoll_;
  os::Fd wake_;  // eventfd
  std::thread thread_;

  absl::Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  // The loop's own.
  std::map<uint64_t, Watched> watched_;
  std::map<std::pair<Instant, uint64_t>, std::function<void()>> timers_;
  std::map<uint64_t, Instant> timer_times_;
  uint64_t next_watch_ = 1;
  uint64_t next_timer_ = 1;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_EVENT_LOOP_H_
