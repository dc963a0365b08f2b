#ifndef SANDGLASS_SERVER_OPS_READINESS_WATCH_H_
#define SANDGLASS_SERVER_OPS_READINESS_WATCH_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/profile/profile.h"
#include "sandbox/wire/yard_stock.h"
#include "server/base/cancel_token.h"
#include "server/base/clock.h"
#include "server/job/job_runner.h"
#include "server/live_policy/live_policy.h"
#include "server/ops/isolation_canary.h"
#include "server/ops/operated_daemon.h"
#include "server/ops/readiness.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// Says whether runs can be put on record.
class AuditHealth {
 public:
  virtual ~AuditHealth() = default;
  // Returns an error while runs are refused because nothing can be written.
  // Call it about once a second, also because that lets the log go on by
  // itself. It takes as long as the disk does.
  virtual absl::Status Healthy() = 0;
};

struct ReadinessWatchParts {
  Readiness* readiness = nullptr;  // outlives the watch, as do the others
  const LivePolicy* policy = nullptr;
  JobRunner* runner = nullptr;
  OperatedDaemon* daemon = nullptr;
  AuditHealth* audit = nullptr;  // null: runs aren't put on record
  // A disk that takes longer than this for `audit` counts as not writable.
  absl::Duration audit_patience = absl::Seconds(10);
  // The directories to which the daemon writes.
  std::vector<std::string> directories;
  absl::Duration try_every = absl::Minutes(5);
};

// Watches the conditions about which nobody else tells. One thread watches pool
// and disk. Another one tries the isolation, which takes as long as programs
// run. A third one checks the audit log, which takes as long as its disk does.
// A fourth one has the languages tried again that didn't work, since the cause
// may have been the machine.
class ReadinessWatch {
 public:
  explicit ReadinessWatch(ReadinessWatchParts parts);
  // Calls Stop().
  ~ReadinessWatch();
  ReadinessWatch(const ReadinessWatch&) = delete;
  ReadinessWatch& operator=(const ReadinessWatch&) = delete;

  // Call once.
  void Start();
  // Waits until the isolation was tried once; returns false when the timeout
  // came first.
  bool WaitForFirst(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Something may have changed, so the isolation is tried again soon.
  void Recheck() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether programs got out of jails like those of this profile, and no such
  // jail has held since. This is remembered for replaced profiles, too.
  bool EscapedFrom(const policy::Profile& profile) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels what this runs. May be called again.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Waits so long, or until Stop is called; returns whether it was.
  bool StopsWithin(absl::Duration time) ABSL_LOCKS_EXCLUDED(mutex_);
  void WatchPoolAndDisk() ABSL_LOCKS_EXCLUDED(mutex_);
  void WatchIsolation() ABSL_LOCKS_EXCLUDED(mutex_);
  void WatchLanguages() ABSL_LOCKS_EXCLUDED(mutex_);
  void WatchAudit() ABSL_LOCKS_EXCLUDED(mutex_);
  void CheckAuditAnswers() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether it could be tried everywhere.
  bool CheckIsolation() ABSL_LOCKS_EXCLUDED(mutex_);
  void RecordEscapes() ABSL_LOCKS_EXCLUDED(mutex_);

  const ReadinessWatchParts parts_;
  CancelToken cancel_;
  IsolationCanary canary_;  // used by the thread that tries the isolation
  mutable absl::Mutex mutex_;
  bool tried_ ABSL_GUARDED_BY(mutex_) = false;
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Since when an answer from the audit log is awaited; none when it has
  // answered.
  std::optional<MonotonicTime> audit_asked_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> escaped_templates_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

// Finds out which jails can't be made: keys that have no idle jail and whose
// latest fills all failed. It remembers what it saw before.
class PoolWatch {
 public:
  struct Found {
    // Of the kind to which all runs fall back.
    absl::Status jails;
    // Of the kinds in which an interpreter waits. Without them, runs are merely
    // slower.
    absl::Status warm;
  };
  Found Check(const std::vector<PoolKeyState>& states);

 private:
  struct Seen {
    uint64_t filled = 0;
    uint64_t failures = 0;
    bool fails = false;
  };
  std::map<JailKey, Seen> seen_;
};

// Checks that the yard to which all runs fall back can make parts of jails. One
// that can't still hands out the jails that are left, and then none.
absl::Status JudgeYards(const std::vector<sandbox::YardStock>& yards);

// The room in a file system, for users without privileges.
struct Room {
  uint64_t bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t files = 0;  // 0 when it doesn't count them
  uint64_t free_files = 0;
};
// RESOURCE_EXHAUSTED when less than kMinFreeBytes or kMinFreeFiles is left;
// on a small file system, when less than a twentieth is left.
absl::Status JudgeRoom(const std::string& directory, const Room& room);
inline constexpr uint64_t kMinFreeBytes = uint64_t{16} << 20;
inline constexpr uint64_t kMinFreeFiles = 100;

// Returns an error for the first directory without room. A directory whose room
// can't be asked for counts as good: whatever writes there will say more.
absl::Status CheckRoom(const std::vector<std::string>& directories);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_READINESS_WATCH_H_
