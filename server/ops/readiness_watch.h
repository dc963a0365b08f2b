#ifndef SANDGLASS_SERVER_OPS_READINESS_WATCH_H_
#define SANDGLASS_SERVER_OPS_READINESS_WATCH_H_

#include <functional>
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
#include "server/ops/readiness.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

struct ReadinessWatchParts {
  Readiness* readiness = nullptr;  // outlives the watch, as do the others
  const LivePolicy* policy = nullptr;
  JobRunner* runner = nullptr;
  IsolationCanary::UsableFunction usable;  // not empty
  std::function<std::vector<PoolKeyState>()> pool;
  // What the yards have; asked now and then. Empty: nobody knows.
  std::function<std::vector<sandbox::YardStock>()> yards;
  // Tries the languages again that failed; empty: none is tried.
  std::function<void()> try_languages;
  // Whether runs can be put on record; empty: none are.
  std::function<absl::Status()> audit;
  // A disk that takes longer for it counts as one that can't be written to.
  absl::Duration audit_patience = absl::Seconds(10);
  // Directories that the daemon writes to.
  std::vector<std::string> directories;
  absl::Duration try_every = absl::Minutes(5);
};

// Looks after the conditions that nobody else tells of: pool and disk on one
// thread; isolation, which takes as long as programs run, on another; on a
// third the audit log, which takes as long as its disk does. A fourth has
// languages tried again that didn't work: what stood in their way may have been
// the machine.
class ReadinessWatch {
 public:
  explicit ReadinessWatch(ReadinessWatchParts parts);
  // Stops.
  ~ReadinessWatch();
  ReadinessWatch(const ReadinessWatch&) = delete;
  ReadinessWatch& operator=(const ReadinessWatch&) = delete;

  // Call once.
  void Start();
  // Waits until the isolation was tried once; false when the timeout came
  // first.
  bool WaitForFirst(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Something may be another way now: tries isolation soon.
  void LookAgain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether programs got out of jails such as this profile's, and no such jail
  // has held since. True of a profile that was replaced, too.
  bool EscapedFrom(const policy::Profile& profile) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels what it runs. May be called again.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void LookAfterPoolAndDisk() ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAfterIsolation() ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAfterLanguages() ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAfterAudit() ABSL_LOCKS_EXCLUDED(mutex_);
  void CheckAuditAnswers() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it could be tried everywhere.
  bool CheckIsolation() ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteEscapes() ABSL_LOCKS_EXCLUDED(mutex_);

  const ReadinessWatchParts parts_;
  CancelToken cancel_;
  IsolationCanary canary_;  // of the thread that tries the isolation
  mutable absl::Mutex mutex_;
  bool tried_ ABSL_GUARDED_BY(mutex_) = false;
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Since when the audit log is looked at; none: it has answered.
  std::optional<MonotonicTime> audit_asked_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> escaped_templates_ ABSL_GUARDED_BY(mutex_);
  std::thread pool_and_disk_;
  std::thread isolation_;
  std::thread languages_;
  std::thread audit_;
};

// Which jails can't be made: of the kind that all runs fall back to, those
// without a jail whose last fills all failed. Without those that an interpreter
// waits in runs are only slower. Remembers what it saw before.
class PoolWatch {
 public:
  absl::Status Look(const std::vector<PoolKeyState>& states);

 private:
  struct Seen {
    uint64_t filled = 0;
    uint64_t failures = 0;
    bool fails = false;
  };
  std::map<JailKey, Seen> seen_;
};

// Whether the yard that all runs fall back to can make parts of jails. One that
// can't serves the jails that are left, and then none.
absl::Status JudgeYards(const std::vector<sandbox::YardStock>& yards);

// Of a file system, for those without privileges.
struct Room {
  uint64_t bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t files = 0;  // 0: it doesn't count them
  uint64_t free_files = 0;
};
// RESOURCE_EXHAUSTED when less than kLeastFreeBytes or kLeastFreeFiles is left;
// of a small file system a twentieth.
absl::Status JudgeRoom(const std::string& directory, const Room& room);
inline constexpr uint64_t kLeastFreeBytes = uint64_t{16} << 20;
inline constexpr uint64_t kLeastFreeFiles = 100;

// The first directory without room. One that can't be asked counts as good:
// whoever writes there says more.
absl::Status CheckRoom(const std::vector<std::string>& directories);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_READINESS_WATCH_H_
