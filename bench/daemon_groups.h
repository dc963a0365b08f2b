#ifndef SANDGLASS_BENCH_DAEMON_GROUPS_H_
#define SANDGLASS_BENCH_DAEMON_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/report.h"
#include "sandbox/os/fd.h"

namespace sandglass::bench {

// The control groups of a daemon: itself, its spawners and zygotes, and all its
// jails.
class DaemonGroups {
 public:
  // `state_dir` is the daemon's, which must have started. Keeps the directories
  // open, so that a mount over them later changes nothing.
  static absl::StatusOr<DaemonGroups> Open(const std::string& state_dir);

  // Processor time of all processes there ever were in them; nullopt when no
  // hierarchy of the daemon's counts it.
  std::optional<absl::Duration> Cpu() const;
  // Memory that is accounted to them; 0 when unknown.
  uint64_t MemoryBytes() const;
  // Jails in which an interpreter waits, by kind. Only while no program runs.
  std::vector<IdleJails> Idle() const;
  // Processes that are in them, counted in the hierarchy with the most.
  size_t Processes() const;

 private:
  std::string MemoryRoot() const;
  std::vector<std::string> Roots() const;

  std::vector<os::Fd> roots_;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_DAEMON_GROUPS_H_
