#ifndef SANDGLASS_TESTS_CHAOS_WORLD_H_
#define SANDGLASS_TESTS_CHAOS_WORLD_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/chaos/census.h"
#include "tests/chaos/mixed_load.h"
#include "tests/support/daemon/daemon.h"

namespace sandglass::testing {

// Leaves the host's mount namespace, so that what a test mounts ends with it.
// Before any thread. Needs root.
bool EnterOwnMounts();

// A supervised daemon whose state, cache, audit log and durable sessions are
// each on a small file system of its own, and what must be true of it after
// each fault.
class ChaosWorld {
 public:
  ChaosWorld();
  ~ChaosWorld();
  ChaosWorld(const ChaosWorld&) = delete;
  ChaosWorld& operator=(const ChaosWorld&) = delete;

  // Starts the daemon, puts some load on it and counts what it has when that
  // is over. Later counts are compared to this one.
  absl::Status Start();
  // Ends the daemon as tests do, with all their checks.
  absl::Status Stop();

  Daemon& daemon() { return *daemon_; }
  // Directories: of lines of the audit log, of the policy, and the four disks.
  std::string audit() const { return place_ + "/audit/log"; }
  std::string policy() const { return place_ + "/policy"; }
  std::string config() const { return daemon_->directory() + "/config.json"; }
  std::vector<std::string> disks() const;
  static constexpr size_t kDurableDisk = 3;

  // The process that serves, the supervisor's child; none while it is started.
  std::optional<Process> Server() const;
  // Processes of the daemon with this name (/proc/PID/comm).
  std::vector<Process> Named(const std::string& name) const;
  // Those that fork runners, each by the command line that it gave itself.
  std::vector<Process> Zygotes() const;

  // How often this event is in the daemon's log.
  int LogLines(const std::string& event) const;

  // Waits until health is SERVING and a run succeeds. How long that took;
  // nothing when it took too long.
  std::optional<absl::Duration> UntilHealthy(absl::Duration timeout);

  // Keeps a copy of what the audit log has now and will get in the same file,
  // for Missing and VerifyAudit; for faults that take the file away.
  void KeepAuditFile(const std::string& name);
  // The same of all its files.
  void KeepAudit();
  // The log begins anew: what was kept so far is a log of its own.
  void AuditBeginsAnew() { ++chain_; }

  // What was acknowledged and is not in the audit log.
  std::vector<std::string> Missing(const Ledger& ledger);
  // What `sandglass audit verify` says of each log if not that it is as it was
  // written.
  std::vector<std::string> VerifyAudit();
  // What the daemon has, once that stays the same for a while.
  Census Settled();
  // What is there more than at first, or of a kind of processes no more, once
  // it had time to go and to come.
  std::vector<std::string> Left();

 private:
  void Mount(const std::string& name, const std::string& size);
  void NoteMountError(const std::string& path);
  std::string Chain(int number) const;
  CensusPlaces Places() const;
  void EndSessions();

  const std::string place_;
  std::vector<std::string> mounts_;
  std::unique_ptr<Daemon> daemon_;
  Census baseline_;
  absl::Status made_;
  int chain_ = 0;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_CHAOS_WORLD_H_
