#ifndef SANDGLASS_SANDBOX_JAIL_COUNTER_FILES_H_
#define SANDGLASS_SANDBOX_JAIL_COUNTER_FILES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The directories of a jail's control groups. A controller that is on v2 has no
// directory of its own.
struct CounterGroups {
  os::Fd v2;
  os::Fd memory;  // v1 directory, or empty
  os::Fd pids;    // v1 directory, or empty
  os::Fd cpu;     // v1 directory, or empty
};

// Usage and counters as the kernel has them, since the jail was made. In a jail
// where a runner or an interpreter waited for the program, processor time
// counts from the program's arrival.
struct JailCounters {
  policy::Counters counters;
  absl::Duration cpu_user;
  absl::Duration cpu_system;
  absl::Duration cpu_total() const { return cpu_user + cpu_system; }
  uint64_t peak_memory_bytes = 0;
  // How often memory ran out at this group's own limit; v1 doesn't count that.
  std::optional<uint64_t> ooms_at_limit;
};

// What was added between two readings of the same jail.
policy::Counters Since(const JailCounters& before, const JailCounters& now);

struct MemorySample {
  uint64_t anonymous_bytes = 0;
  uint64_t shared_bytes = 0;  // tmpfs, shared memory, page cache
};

// The counters of one jail. Their files are opened when the jail is made:
// opening one takes longer than reading it, and a run's answer waits for that.
// Where a group is gone or the kernel lacks a counter, its value is 0.
class CounterFiles {
 public:
  explicit CounterFiles(CounterGroups groups);
  CounterFiles(const CounterFiles&) = delete;
  CounterFiles& operator=(const CounterFiles&) = delete;
  ~CounterFiles();

  // For a jail that stays for a long time, as a session's does: from here on it
  // holds fewer descriptors. It keeps either its files, or, once `max_kept`
  // other such jails keep theirs, only the directories; each file is then
  // opened whenever it is read. Call once, before others read.
  void Settle(uint64_t max_kept);
  // True when each file is opened whenever it is read.
  bool opens_late() const { return state_ == State::kLate; }
  // Opens a file of the jail's v2 group, for example "run/cgroup.events", for
  // reading; empty with errno on failure. Only before Settle, or when
  // opens_late().
  os::Fd Open(const char* name) const;

  // Reads all counters, including the program's processor time of CpuTime.
  JailCounters Read() const;
  MemorySample Memory() const;
  // Processor time of the program's part of the jail, without init.
  void CpuTime(absl::Duration& user, absl::Duration& system) const;
  uint64_t OomKills() const;
  // The number of processes and threads, including init.
  uint64_t Processes() const;
  // The pids of the processes that live in the program's part, one a line: none
  // that has ended, even if nobody has waited for it. When there are many
  // thousands, not all are listed.
  std::string RunList() const;
  uint64_t RunProcesses() const;  // their number
  // The highest number of processes and threads, without init; nullopt where
  // the kernel has no pids.peak.
  std::optional<uint32_t> PeakProcesses() const;

 private:
  enum class State { kBoth, kFiles, kLate };
  // One of the counters' files; no name means that it doesn't exist.
  struct File {
    os::Fd CounterGroups::*group = nullptr;
    const char* name = nullptr;
    os::Fd fd;
  };

  // The first of these names that exists.
  File Find(os::Fd CounterGroups::*group,
            std::initializer_list<const char*> names) const;
  std::string Text(const File& file) const;
  uint64_t Key(const File& file, absl::string_view key) const;
  std::optional<uint64_t> Number(const File& file) const;

  CounterGroups groups_;
  const bool memory_on_v1_, cpu_on_v1_;
  State state_ = State::kBoth;
  File memory_events_;  // v1: memory.oom_control
  File memory_hits_;    // v1 only; on v2 they are among the events
  File memory_peak_, memory_stat_;
  File pids_events_, pids_current_, pids_peak_;
  File cpu_stat_;                      // including the throttling
  File run_cpu_stat_, run_processes_;  // of the program's part
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_COUNTER_FILES_H_
