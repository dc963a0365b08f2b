#ifndef SANDGLASS_SERVER_BASE_CALL_THREADS_H_
#define SANDGLASS_SERVER_BASE_CALL_THREADS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/base/shares.h"

namespace sandglass::server {

struct CallThreadsOptions {
  int threads = 8;
  // The most threads that there are while all of them wait on their jails;
  // those beyond the first `threads` end again when they are idle. The last
  // quarter is reserved for callers that have few tasks running: see Shares.
  int max_threads = 512;
  // The most of these threads that work for one key.
  int per_key = 4;
  // How much may wait: tasks of all keys together, tasks of one key, and the
  // bytes that they hold. The last quarter of what all keys have together is
  // reserved for callers that hold little of it.
  size_t max_waiting = 4096;
  size_t max_waiting_per_key = 64;
  uint64_t max_waiting_bytes = uint64_t{256} << 20;
  // The bytes of one key. A key of which nothing waits may exceed it with one
  // task.
  uint64_t max_waiting_bytes_per_key = uint64_t{16} << 20;
};

// A task is counted for a key: the caller, by its name, and what the task waits
// for, which in most cases is a session.
struct CallKey {
  std::string caller;
  std::string what;

  friend bool operator<(const CallKey& a, const CallKey& b) {
    return std::tie(a.caller, a.what) < std::tie(b.caller, b.what);
  }
  friend bool operator==(const CallKey&, const CallKey&) = default;
};

// Threads for calls that wait on a jail, so that gRPC's own threads never do.
// Jails that keep their callers waiting don't hold up others: each key has a
// bounded share, and while all threads wait, more are started. A caller with
// many keys can't hold up others either: threads and room for waiting tasks are
// shared between callers as Shares says. Thread-safe.
class CallThreads {
 public:
  using Task = std::function<void()>;

  explicit CallThreads(const CallThreadsOptions& options);
  // First runs the tasks that wait.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Tasks of one key begin in the order in which they were added.
  // RESOURCE_EXHAUSTED when too much waits: the task is dropped.
  absl::Status Add(const CallKey& key, uint64_t bytes, Task task)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the next step of a call that Add has let in. It is never refused.
  void Continue(const CallKey& key, Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  // The task is run before all tasks that wait, on an extra thread when callers
  // keep all others busy. It is never refused. Meant for tasks that are done
  // quickly.
  void Urgent(Task task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    CallKey key;
    uint64_t bytes;
    Task task;
  };
  struct Load {
    int running = 0;
    size_t waiting = 0;
    uint64_t waiting_bytes = 0;
  };
  using Threads = std::list<std::thread>;

  absl::Status Room(const CallKey& key, uint64_t bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Put(const CallKey& key, uint64_t bytes, Task task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRun(const Waiting& waiting) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The end of the list when there is none.
  std::list<Waiting>::iterator FirstThatMayRun()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts one more thread if all threads are busy, there are fewer than `max`
  // and some waiting task may run.
  void StartThread(int max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work(Threads::iterator self) ABSL_LOCKS_EXCLUDED(mutex_);

  const CallThreadsOptions options_;
  absl::Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<CallKey, Load> loads_ ABSL_GUARDED_BY(mutex_);
  // Counted by caller; urgent tasks count for nobody.
  Shares waiting_shares_ ABSL_GUARDED_BY(mutex_);
  Shares waiting_bytes_ ABSL_GUARDED_BY(mutex_);
  Shares running_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;
  Threads threads_ ABSL_GUARDED_BY(mutex_);
  Threads ended_ ABSL_GUARDED_BY(mutex_);  // to be joined
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_CALL_THREADS_H_
