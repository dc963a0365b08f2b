#ifndef SANDGLASS_SERVER_CALL_THREADS_H_
#define SANDGLASS_SERVER_CALL_THREADS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::server {

struct CallThreadsOptions {
  int threads = 8;
  // So many when all wait on their jails; those beyond the first end again.
  int most_threads = 512;
  // Of these, the most that work for one key.
  int per_key = 4;
  // What may wait: tasks of all keys, of one, and the bytes that they hold.
  size_t max_waiting = 4096;
  size_t max_waiting_per_key = 64;
  uint64_t max_waiting_bytes = uint64_t{256} << 20;
  // Of one key; more where nothing of its waits.
  uint64_t max_waiting_bytes_per_key = uint64_t{16} << 20;
};

// Threads for calls that wait on a jail, so that gRPC's own never do. Jails
// that keep their callers waiting hold up no others: each key (a session) has
// its share and no more, and while all threads wait there come more.
// Thread-safe.
class CallThreads {
 public:
  using Task = std::function<void()>;

  explicit CallThreads(const CallThreadsOptions& options);
  // Does first what waits.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Tasks of one key begin in their order. RESOURCE_EXHAUSTED when too much
  // waits: the task is dropped.
  absl::Status Add(const std::string& key, uint64_t bytes, Task task)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The next step of a call that was let in; never refused.
  void Continue(const std::string& key, Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Done before all that waits, on a thread of its own where callers have all
  // others busy; never refused. For one that is soon done.
  void Urgent(Task task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    std::string key;
    uint64_t bytes;
    Task task;
  };
  struct Load {
    int running = 0;
    size_t waiting = 0;
    uint64_t waiting_bytes = 0;
  };
  using Threads = std::list<std::thread>;

  void Put(const std::string& key, uint64_t bytes, Task task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRun(const Waiting& waiting) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool CanRunSome() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // One more thread, if all that there are have work and some is left.
  void StartThread(int most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work(Threads::iterator self) ABSL_LOCKS_EXCLUDED(mutex_);

  const CallThreadsOptions options_;
  absl::Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Load> loads_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;
  Threads threads_ ABSL_GUARDED_BY(mutex_);
  Threads ended_ ABSL_GUARDED_BY(mutex_);  // to be joined
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_CALL_THREADS_H_
