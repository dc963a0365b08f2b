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
// On a machine with fewer locks than this there is no need to count them. No
// more than this are read: for each page of its list the kernel goes through
// the list from the start, and holds up everyone who locks meanwhile.
inline constexpr size_t kMaxListedLocks = 20'000;

// Counts the file locks that jails hold, above all the record locks of
// fcntl(2), of which a process can have any number: they take kernel memory
// that isn't charged to any control group. The kernel has one list of them for
// the whole machine, /proc/locks, so one thread of this process reads it once a
// second, and goes beyond its first page only where the machine has many locks.
// The list names a process for each lock that jails can make, because their
// filters refuse the others: locks of open file descriptions, for which the
// list names no process, and processes that share a table of descriptors and
// may outlive each other.
// Thread-safe.
class LockCensus {
 public:
  // The one census of this process.
  static LockCensus& Shared();
  ~LockCensus() { Stop(); }

  // Both may be called repeatedly, and by several threads.
  void Start() ABSL_LOCKS_EXCLUDED(starting_, mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(starting_, mutex_);

  // The memory that locks of processes in this control group and below it took
  // when the list was last read; 0 while the machine has few locks. `group` is
  // a path in the form of /proc/<pid>/cgroup.
  uint64_t BytesOf(absl::string_view group) const ABSL_LOCKS_EXCLUDED(mutex_);
  // False while the machine has few locks; then nobody needs to call BytesOf.
  bool many() const { return many_.load(std::memory_order_relaxed); }

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex starting_;
  std::thread thread_ ABSL_GUARDED_BY(starting_);
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> many_ = false;
  // The number of locks by control group.
  std::map<std::string, size_t> counts_ ABSL_GUARDED_BY(mutex_);
};

// Adds the locks in these lines of /proc/locks to the counts by process;
// waiting requests don't count. Returns how many locks there were, including
// those without a process.
size_t CountLocks(absl::string_view lines, std::map<pid_t, size_t>& counts);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_LOCK_CENSUS_H_
