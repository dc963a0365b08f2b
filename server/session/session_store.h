#ifndef SANDGLASS_SERVER_SESSION_SESSION_STORE_H_
#define SANDGLASS_SERVER_SESSION_SESSION_STORE_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "internal/durable.pb.h"
#include "sandbox/os/fd.h"
#include "server/base/durable_log.h"
#include "server/session/session_copy.h"

namespace sandglass::server {

// The directory of durable sessions, which belongs to the server and has mode
// 0700. It has a directory for each session, named by its id, and "ended",
// which says how the others ended. No jail sees it, and only one daemon uses it
// at a time. Thread-safe; methods block on the disk.
class SessionStore {
 public:
  // Makes the directory as root, before the server gives up its rights.
  // FAILED_PRECONDITION when it belongs to somebody else, or another daemon
  // uses it.
  static absl::StatusOr<std::unique_ptr<SessionStore>> Open(
      const std::string& directory, uid_t owner, gid_t group,
      uint64_t max_bytes);

  struct Found {
    internal::StoredSession record;
    std::shared_ptr<SessionCopy> copy;
    absl::Time last_used;
  };
  // Returns the sessions that an earlier daemon left, oldest first. Removes
  // what that daemon left half done. A session whose record is damaged is put
  // aside.
  std::vector<Found> LoadSessions();
  // Returns how sessions ended after `since`, oldest first.
  std::vector<internal::StoredEnd> LoadEnds(absl::Time since)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Of tenants with a ceiling, all callers together keep no more than it.
  // Called once, before there are sessions.
  void LimitTenants(DiskBudget::TenantMost most) {
    disk_->LimitTenants(std::move(most));
  }

  // Makes a copy for a new session, with the files of `parent` if there is one,
  // completely or not at all. RESOURCE_EXHAUSTED: there is no room.
  absl::StatusOr<std::shared_ptr<SessionCopy>> Create(
      const internal::StoredSession& record, SessionCopy* parent);
  // Forgets a session at once; its files are removed by RemoveGone.
  void Remove(const std::string& session_id);
  void RemoveGone();
  void RememberEnd(const internal::StoredEnd& end) ABSL_LOCKS_EXCLUDED(mutex_);

  const DiskBudget& disk() const { return *disk_; }

 private:
  SessionStore(os::Fd directory, uint64_t max_bytes)
      : directory_(std::move(directory)),
        disk_(std::make_shared<DiskBudget>(max_bytes)) {}

  absl::StatusOr<Found> LoadOne(const std::string& name);
  void RemoveDirectory(const std::string& name);

  const os::Fd directory_;  // holds the lock
  const std::shared_ptr<DiskBudget> disk_;
  std::atomic<bool> has_gone_{false};
  absl::Mutex mutex_;
  DurableLog ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_STORE_H_
