#ifndef SANDGLASS_SANDBOX_JAIL_LOCK_CENSUS_H_
#define SANDGLASS_SANDBOX_JAIL_LOCK_CENSUS_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::sandbox {

// What the kernel takes for one record lock (struct file_lock).
inline constexpr uint64_t kRecordLockBytes = 192;
// A machine on which there are fewer has no need to count them. More are not
// read: the kernel goes through its list from the start for each page of it,
// and holds up all who lock meanwhile.
inline constexpr size_t kMostListedLocks = 20'000;

// Counts the file locks that jails hold, above all the record locks of
// fcntl(2), of which a process can have any number: kernel memory that no
// control group is charged for. The kernel has one list of them for the whole
// machine, /proc/locks, so one thread of the process looks at it once a second,
// and goes beyond its first page only where the machine has many. That the list
// names the process of each lock, the filters of jails see to: locks of open
// file descriptions, which it names nobody for, are refused, and so are
// processes that share a table of descriptors and may outlive each other.
// Thread-safe.
class LockCensus {
 public:
  // Of this process.
  static LockCensus& Shared();
  ~LockCensus() { Stop(); }

  // Both may be called again.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // What locks of processes in this control group and below take, as far as
  // they were read at the last look; 0 while the machine has few. `group` is a
  // path as /proc/<pid>/cgroup has it.
  uint64_t BytesOf(absl::string_view group) const ABSL_LOCKS_EXCLUDED(mutex_);
  // False while the machine has few: then nobody needs to ask.
  bool many() const { return many_.load(std::memory_order_relaxed); }

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  std::thread thread_;  // of who starts and stops
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> many_ = false;
  // By control group.
  std::map<std::string, size_t> counts_ ABSL_GUARDED_BY(mutex_);
};

// Adds the locks that lines of /proc/locks tell of, by process; those that wait
// are none. Returns how many locks there were, also nobody's.
size_t CountLocks(absl::string_view lines, std::map<pid_t, size_t>& counts);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_LOCK_CENSUS_H_
