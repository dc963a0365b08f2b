#ifndef SANDGLASS_POLICY_VERDICT_VERDICT_H_
#define SANDGLASS_POLICY_VERDICT_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "policy/limits/limits.h"

namespace sandglass::policy {

// What became of the user's program; values equal sandglass.v1.Outcome.
enum class Outcome {
  kOk = 1,
  kNonzeroExit = 2,
  kSignaled = 3,
  kTimeout = 4,
  kCpuLimit = 5,
  kMemoryLimit = 6,
  kOutputLimit = 7,
  kDiskLimit = 8,
  kFileSizeLimit = 9,
  kPidsLimit = 10,
  kCompileError = 11,
  kCancelled = 12,
  kShutdown = 13,
  kJailFailed = 14,
  kNeedsApproval = 15,
  kDenied = 16,
};

// A part of a run with limits and a verdict of its own; values equal
// sandglass.v1.Phase.
enum class Phase { kCompile = 1, kRun = 2, kAnalysis = 3 };

// Why the daemon killed a run. Recorded before the kill is sent.
enum class KillReason {
  kWallTime,
  kCpuTime,
  kOutput,
  kCancelled,
  kShutdown,
  kNetlink,
  kBacklog,
  kLocks,
  kSessionEnded,  // it was deleted, or its time was over
  kSessionDied,   // its jail ended by itself
};

// What a run's netlink sockets may hold. It is kernel memory that no control
// group is charged for; whoever reads the answers to what he asks needs
// kilobytes of it.
inline constexpr uint64_t kMostNetlinkBytes = 16 << 20;
// The same for what waits in TCP connections that nobody has accepted, and what
// these are themselves: a server that accepts keeps nearly nothing there.
inline constexpr uint64_t kMostBacklogBytes = 16 << 20;
// And for record locks, some five thousand, where the machine has many times
// as many in all (sandbox/jail/lock_census.h).
inline constexpr uint64_t kMostRecordLockBytes = 1 << 20;

// Kernel memory of a run that no control group is charged for.
struct UnchargedMemory {
  uint64_t netlink_bytes = 0;
  uint64_t backlog_bytes = 0;
  uint64_t lock_bytes = 0;
};
// What of it is too much, if anything is.
struct Excess {
  KillReason reason;
  uint64_t bytes;
};
std::optional<Excess> FindExcess(const UnchargedMemory& memory);

// A kill that the daemon decided.
struct Kill {
  KillReason reason;
  absl::Duration after;   // since the start of the user's code
  uint64_t measured = 0;  // nanoseconds or bytes, by reason; 0 for the others
};

// Kernel counters of the run's control group; as differences over the run.
struct Counters {
  uint64_t oom_kills = 0;
  uint64_t memory_limit_hits = 0;
  uint64_t pids_limit_hits = 0;
  uint64_t cpu_throttled_periods = 0;
  absl::Duration cpu_throttled_time;
  // Of those kills: whether memory ran out at the jail's own limit, where the
  // kernel says so; else what the jail ever had at most, with its swap. Both
  // absent where there was no kill, or nothing is known.
  std::optional<bool> oom_at_limit;
  std::optional<uint64_t> jail_peak_memory_bytes;
  // The kernel's own count of the most processes and threads, without init,
  // that the jail ever had. Absent where it has none, and where it refused
  // none.
  std::optional<uint32_t> jail_peak_processes;
};

// Fill of one writable file system, taken after the run's last process died.
struct FilesystemFill {
  LimitKind bytes_kind;  // kTmpBytes or kWorkspaceBytes
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t total_inodes = 0;
  uint64_t free_inodes = 0;
};

// That the profile's rules didn't let a program start.
struct PolicyStop {
  bool can_be_approved;  // by a person
  std::string reason;    // one plain sentence
};

// All facts that a verdict may depend on.
struct RunFacts {
  Phase phase = Phase::kRun;
  std::optional<PolicyStop> policy_stop;
  // Raw wait status of the main process; absent when it was never reaped
  // (init died first).
  std::optional<int> wait_status;
  // The daemon's kill, if it decided one.
  std::optional<Kill> kill;
  // When an out-of-memory kill was first seen; absent when none or unknown.
  std::optional<absl::Duration> oom_seen_after;
  Counters counters;
  std::vector<FilesystemFill> filesystems;
  // The same before it began, of a run or command in a session; otherwise
  // empty, and all had room.
  std::vector<FilesystemFill> filesystems_before;
  // The end of its output says that there is no room: SaysDiskFull.
  bool said_disk_full = false;
  absl::Duration wall_time;
  absl::Duration cpu_time;
  uint64_t peak_memory_bytes = 0;
  uint32_t peak_processes = 0;
  uint64_t stdout_bytes = 0;  // written by the program
  uint64_t stderr_bytes = 0;
  uint32_t leftover_processes = 0;
  // What the language's runtime is known to say when it gives up for lack of
  // memory, as found in the end of stderr; empty when it isn't there.
  std::string runtime_words;
};

// A limit with what was measured against it: nanoseconds, bytes or a count.
struct LimitReading {
  LimitKind kind;
  uint64_t configured = 0;
  uint64_t measured = 0;
  friend bool operator==(const LimitReading&, const LimitReading&) = default;
};

// Values equal sandglass.v1.Killer.
enum class Killer {
  kNone = 1,
  kKernelOom = 2,
  kDaemon = 3,
  kProgramSignal = 4
};

// The decision and why.
struct Verdict {
  Outcome outcome;
  std::string rule;         // row id in docs/verdicts.md
  std::string explanation;  // one plain sentence with figures
  std::optional<LimitReading> limit;
  std::vector<LimitReading> limits_touched;
  Killer killed_by = Killer::kNone;
  std::optional<absl::Duration> killed_after;
  std::optional<int> exit_code;
  std::optional<int> signal;
};

// Decides a run's outcome. Pure: the same facts and limits give the same
// verdict. The rows and their order are docs/verdicts.md.
Verdict Decide(const RunFacts& facts, const Limits& limits);

// So much of an output is its end: runtimes add a trace of their stack after
// they said why.
inline constexpr size_t kEndBytes = size_t{16} << 10;

// Whether the end of a program's output has what C libraries, Go, Node and
// shells say of ENOSPC.
bool SaysDiskFull(std::string_view output);

// Which of the texts a runtime or compiler wrote near the end of stderr; empty
// when none.
std::string FindRuntimeWords(const std::vector<std::string>& words,
                             std::string_view stderr_data);

// For example "MEMORY_LIMIT" (the API's name without its prefix).
std::string_view OutcomeName(Outcome outcome);

// For example "SIGSEGV"; "SIG<n>" for numbers without a name.
std::string SignalName(int signal);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_VERDICT_H_
