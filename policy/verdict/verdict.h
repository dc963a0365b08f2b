#ifndef SANDGLASS_POLICY_VERDICT_VERDICT_H_
#define SANDGLASS_POLICY_VERDICT_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "policy/limits/limits.h"

namespace sandglass::policy {

// How the user's program ended; the values equal sandglass.v1.Outcome.
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

// A part of a run that has limits and a verdict of its own; the values equal
// sandglass.v1.Phase.
enum class Phase { kCompile = 1, kRun = 2, kAnalysis = 3 };

// Why the daemon killed a run. The reason is recorded before the kill is sent.
enum class KillReason {
  kWallTime,
  kCpuTime,
  kOutput,
  kCancelled,
  kShutdown,
  kNetlink,
  kBacklog,
  kLocks,
  kSessionEnded,  // deleted, or its time was over
  kSessionDied,   // its jail ended by itself
};

// How much a run's netlink sockets may hold. It is kernel memory that isn't
// charged to any control group; a program that reads the answers to its
// requests needs only kilobytes of it.
inline constexpr uint64_t kMaxNetlinkBytes = 16 << 20;
// The same for TCP connections that nobody has accepted: what waits in them,
// and the connections themselves. A server that accepts its connections keeps
// almost nothing there.
inline constexpr uint64_t kMaxBacklogBytes = 16 << 20;
// And for record locks, about five thousand of them, on machines that have many
// times that number in all (sandbox/jail/lock_census.h).
inline constexpr uint64_t kMaxRecordLockBytes = 1 << 20;

// Kernel memory of a run that isn't charged to any control group.
struct UnchargedMemory {
  uint64_t netlink_bytes = 0;
  uint64_t backlog_bytes = 0;
  uint64_t lock_bytes = 0;
};
// The part of that memory that exceeds its bound, if any.
struct Excess {
  KillReason reason;
  uint64_t bytes;
};
std::optional<Excess> FindExcess(const UnchargedMemory& memory);

// A kill on which the daemon has decided.
struct Kill {
  KillReason reason;
  absl::Duration after;   // since the start of the user's code
  uint64_t measured = 0;  // nanoseconds or bytes, by reason; or 0
};

// Kernel counters of the run's control group, as differences over the run.
struct Counters {
  uint64_t oom_kills = 0;
  uint64_t memory_limit_hits = 0;
  uint64_t pids_limit_hits = 0;
  uint64_t cpu_throttled_periods = 0;
  absl::Duration cpu_throttled_time;
  // About those kills: whether memory ran out at the jail's own limit, if the
  // kernel says so; else the most memory that the jail ever had, including
  // swap. Both are absent when there was no kill or nothing is known.
  std::optional<bool> oom_at_limit;
  std::optional<uint64_t> jail_peak_memory_bytes;
  // The most processes and threads that the jail ever had, without init, as
  // counted by the kernel. Absent when the kernel doesn't count them, or has
  // refused none.
  std::optional<uint32_t> jail_peak_processes;
};

// How full a writable file system was after the run's last process had died.
struct FilesystemFill {
  LimitKind bytes_kind;  // kTmpBytes or kWorkspaceBytes
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t total_inodes = 0;
  uint64_t free_inodes = 0;
};

// Says that the profile's rules didn't let a program start.
struct PolicyStop {
  bool can_be_approved;  // by a person
  std::string reason;    // one plain sentence
};

// All facts that a verdict may depend on.
struct RunFacts {
  Phase phase = Phase::kRun;
  std::optional<PolicyStop> policy_stop;
  // The main process's raw wait status; absent when it was never reaped,
  // because init died first.
  std::optional<int> wait_status;
  // The kill on which the daemon decided, if any.
  std::optional<Kill> kill;
  // When an out-of-memory kill was first noticed; absent when there was none or
  // its time is unknown.
  std::optional<absl::Duration> oom_seen_after;
  Counters counters;
  std::vector<FilesystemFill> filesystems;
  // The same before a run or command in a session began; empty for other runs,
  // where all had room.
  std::vector<FilesystemFill> filesystems_before;
  // The end of its output says that there is no space left: SaysDiskFull.
  bool said_disk_full = false;
  absl::Duration wall_time;
  absl::Duration cpu_time;
  uint64_t peak_memory_bytes = 0;
  uint32_t peak_processes = 0;
  uint64_t stdout_bytes = 0;  // written by the program
  uint64_t stderr_bytes = 0;
  uint32_t leftover_processes = 0;
  // The words with which the language's runtime is known to give up for want of
  // memory, as found at the end of stderr; empty when they aren't there.
  std::string runtime_words;
};

// A limit, and the measured value for it: in nanoseconds, bytes, or a count.
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

// The decision and the reasons for it.
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

// Decides a run's outcome. A pure function: the same facts and limits give the
// same verdict. The rows and their order are in docs/verdicts.md.
Verdict Decide(const RunFacts& facts, const Limits& limits);

// How much of an output counts as its end: runtimes print a stack trace after
// they have said why they failed.
inline constexpr size_t kEndBytes = size_t{16} << 10;

// Whether the end of a program's output contains the message of C libraries,
// Go, Node and shells for ENOSPC.
bool SaysDiskFull(std::string_view output);

// The first of the texts that a runtime or compiler wrote near the end of
// stderr; empty when there is none.
std::string FindRuntimeWords(const std::vector<std::string>& words,
                             std::string_view stderr_data);

// For example "MEMORY_LIMIT" (the API's name without its prefix).
std::string_view OutcomeName(Outcome outcome);

// For example "SIGSEGV"; "SIG<n>" for numbers without a name.
std::string SignalName(int signal);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_VERDICT_H_
