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
#include "server/base/clock.h"

namespace sandglass::server {

// One thread that waits on many descriptors and times, and runs in order the
// tasks that it is handed. No task, watcher or timer may block. Only Post may
// be called from other threads.
class EventLoop {
 public:
  using Task = absl::AnyInvocable<void()>;
  // `events` are the bits of epoll(7).
  using Watcher = std::function<void(uint32_t events)>;

  EventLoop() = default;
  // Runs the tasks that were posted, then ends.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Call this once, before everything else. INTERNAL when there are no
  // descriptors left.
  absl::Status Start();

  void Post(Task task) ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `watcher` whenever the descriptor has one of `events`, an error or a
  // hangup, until Forget or the end of the loop. The descriptor must stay open
  // that long. Returns the number of the watch, never 0; 0 when the kernel
  // refuses.
  uint64_t Watch(int fd, uint32_t events, Watcher watcher);
  void Forget(uint64_t watch);

  // Calls `call` once. Returns the number of the timer, never 0.
  uint64_t CallAt(MonotonicTime when, std::function<void()> call);
  void Cancel(uint64_t timer);

 private:
  struct Watched {
    int fd;
    Watcher watcher;
  };

  // On failure returns false and sets errno.
  bool Add(int fd, uint32_t events, uint64_t watch) const;
  void AddLater(uint32_t events, uint64_t watch);
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns false when the loop has to end.
  bool DoPosted() ABSL_LOCKS_EXCLUDED(mutex_);
  void DoTimers();
  void Wait();

  os::Fd epoll_;
  os::Fd wake_;  // eventfd
  std::thread thread_;

  absl::Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  // Used only by the loop's own thread.
  std::map<uint64_t, Watched> watched_;
  std::map<std::pair<MonotonicTime, uint64_t>, std::function<void()>> timers_;
  std::map<uint64_t, MonotonicTime> timer_times_;
  uint64_t next_watch_ = 1;
  uint64_t next_timer_ = 1;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_EVENT_LOOP_H_
