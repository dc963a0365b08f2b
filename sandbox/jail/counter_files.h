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

// Directories of a jail's control groups. A controller that is on v2 has none
// of its own.
struct CounterGroups {
  os::Fd v2;
  os::Fd memory;  // v1 directory, or empty
  os::Fd pids;    // v1 directory, or empty
  os::Fd cpu;     // v1 directory, or empty
};

// Usage and counters as the kernel has them, since the jail was made; processor
// time since the program came, where something waited for it.
struct JailCounters {
  policy::Counters counters;
  absl::Duration cpu_user;
  absl::Duration cpu_system;
  absl::Duration cpu_total() const { return cpu_user + cpu_system; }
  uint64_t peak_memory_bytes = 0;
  // Times that memory ran out at this group's own limit; v1 doesn't count them.
  std::optional<uint64_t> ooms_at_limit;
};

// What came between two readings of the same jail.
policy::Counters Since(const JailCounters& before, const JailCounters& now);

struct MemorySample {
  uint64_t anonymous_bytes = 0;
  uint64_t shared_bytes = 0;  // tmpfs, shared memory, page cache
};

// The counters of one jail, in files that are opened as the jail is made: to
// open one takes longer than to read it, and a run's answer waits for that. Of
// a group that is gone, and of a counter that the kernel doesn't have: 0.
class CounterFiles {
 public:
  explicit CounterFiles(CounterGroups groups);
  CounterFiles(const CounterFiles&) = delete;
  CounterFiles& operator=(const CounterFiles&) = delete;
  ~CounterFiles();

  // For a jail that stays for long, as a session's does: holds fewer
  // descriptors from here on, the files or, once the files of `most_kept` other
  // such jails are held already, the directories alone. Each file is then
  // opened as it is read. Call once, before others read.
  void Settle(uint64_t most_kept);
  // True when files are opened as they are read.
  bool opens_late() const { return state_ == State::kLate; }
  // A file of the jail's v2 group, for example "run/cgroup.events", for
  // reading; empty with errno. Only until Settle, or of one that opens late.
  os::Fd Open(const char* name) const;

  // Processor time of the program's part too, as CpuTime has it.
  JailCounters Read() const;
  MemorySample Memory() const;
  // Of the program's part of the jail, without init.
  void CpuTime(absl::Duration& user, absl::Duration& system) const;
  uint64_t OomKills() const;
  // Processes and threads, with init.
  uint64_t Processes() const;
  // Processes, without init; of many thousands, not all.
  uint64_t RunProcesses() const;
  // The highest number of processes and threads, without init; nullopt where
  // the kernel has no pids.peak.
  std::optional<uint32_t> PeakProcesses() const;

 private:
  enum class State { kBoth, kFiles, kLate };
  // One of them; without a name: there is none.
  struct File {
    os::Fd CounterGroups::*group = nullptr;
    const char* name = nullptr;
    os::Fd fd;
  };

  // The first of the names that there is.
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
  File cpu_stat_;                      // with the throttling
  File run_cpu_stat_, run_processes_;  // of the program's part
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_COUNTER_FILES_H_
