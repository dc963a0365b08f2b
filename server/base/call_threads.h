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
  // So many when all wait on their jails; those beyond the first end again. The
  // last quarter works for callers for which few work: see Shares.
  int most_threads = 512;
  // Of these, the most that work for one key.
  int per_key = 4;
  // What may wait: tasks of all keys, of one, and the bytes that they hold. The
  // last quarter of what is for all is for callers that hold little of it.
  size_t max_waiting = 4096;
  size_t max_waiting_per_key = 64;
  uint64_t max_waiting_bytes = uint64_t{256} << 20;
  // Of one key; more where nothing of its waits.
  uint64_t max_waiting_bytes_per_key = uint64_t{16} << 20;
};

// What a task is counted for: a caller by its name, and what it waits for, a
// session in most cases.
struct CallKey {
  std::string caller;
  std::string what;

  friend bool operator<(const CallKey& a, const CallKey& b) {
    return std::tie(a.caller, a.what) < std::tie(b.caller, b.what);
  }
  friend bool operator==(const CallKey& a, const CallKey& b) {
    return a.caller == b.caller && a.what == b.what;
  }
};

// Threads for calls that wait on a jail, so that gRPC's own never do. Jails
// that keep their callers waiting hold up no others: each key has its share and
// no more, and while all threads wait there come more. Nor does a caller with
// many keys: threads and what may wait are shared as Shares says. Thread-safe.
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
  absl::Status Add(const CallKey& key, uint64_t bytes, Task task)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The next step of a call that was let in; never refused.
  void Continue(const CallKey& key, Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Done before all that waits, on a thread of its own where callers have all
  // others busy; never refused. For one that is soon done.
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
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool CanRunSome() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // One more thread, if all that there are have work and some is left.
  void StartThread(int most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work(Threads::iterator self) ABSL_LOCKS_EXCLUDED(mutex_);

  const CallThreadsOptions options_;
  absl::Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<CallKey, Load> loads_ ABSL_GUARDED_BY(mutex_);
  // By caller; what is urgent is nobody's.
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
