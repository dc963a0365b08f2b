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

// The directory of durable sessions, 0700 and the server's: a directory for
// each, by its id, and "ended", how the others ended. No jail has it, and one
// daemon at a time. Thread-safe; methods block on the disk.
class SessionStore {
 public:
  // Makes the directory as root, before the server's rights go.
  // FAILED_PRECONDITION when it is somebody else's, or another daemon has it.
  static absl::StatusOr<std::unique_ptr<SessionStore>> Open(
      const std::string& directory, uid_t owner, gid_t group,
      uint64_t most_bytes);

  struct Found {
    internal::StoredSession record;
    std::shared_ptr<SessionCopy> copy;
    absl::Time written;    // the record, by the file's time
    absl::Time last_used;  // the same, or a later use
  };
  // What a daemon before this one left, oldest first. Removes what it left half
  // done. One whose record is damaged is put aside.
  std::vector<Found> LoadSessions();
  // How sessions ended after `since`, oldest first.
  std::vector<internal::StoredEnd> LoadEnds(absl::Time since)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // A copy for a new session, with the files of `parent` where there is one.
  // It is there whole or not at all. RESOURCE_EXHAUSTED: no room.
  absl::StatusOr<std::shared_ptr<SessionCopy>> Create(
      const internal::StoredSession& record, SessionCopy* parent);
  // Forgets a session at once; its files go with RemoveGone.
  void Remove(const std::string& session_id);
  void RemoveGone();
  void NoteEnd(const internal::StoredEnd& end) ABSL_LOCKS_EXCLUDED(mutex_);

  const DiskBudget& disk() const { return *disk_; }

 private:
  SessionStore(os::Fd directory, uint64_t most_bytes)
      : directory_(std::move(directory)),
        disk_(std::make_shared<DiskBudget>(most_bytes)) {}

  std::vector<std::string> Names() const;
  absl::StatusOr<Found> LoadOne(const std::string& name);
  void RemoveDirectory(const std::string& name);

  const os::Fd directory_;  // has the lock
  const std::shared_ptr<DiskBudget> disk_;
  std::atomic<bool> has_gone_{false};
  absl::Mutex mutex_;
  DurableLog ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_STORE_H_
