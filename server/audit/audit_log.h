#ifndef SANDGLASS_SERVER_AUDIT_AUDIT_LOG_H_
#define SANDGLASS_SERVER_AUDIT_AUDIT_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"
#include "policy/audit/audit_chain.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"

namespace sandglass::server {

// When lines are on the disk itself, so that a power cut can't take them.
enum class AuditFsync {
  kOff,       // when the system thinks fit
  kInterval,  // fsync_interval after they were written
  kAlways,    // before Append returns
};

struct AuditLogOptions {
  AuditFsync fsync = AuditFsync::kInterval;
  absl::Duration fsync_interval = absl::Seconds(1);
  uint64_t max_file_bytes = uint64_t{64} << 20;  // then the next file begins
  uint32_t max_files = 0;  // older ones are deleted; 0: none is
};

// A hash-chained log of what was done (policy/audit/audit_chain.h has the
// format). Thread-safe.
//
// Once Append has returned, a line is there as a whole or not at all. Each
// Append checks that the directory and the file are still there and as this log
// left them. When they are not, or when a line can't be written, the log is
// unhealthy: every Append fails until it can be written again. It then goes on
// by itself, with a line "resumed" that says why and how many lines were lost.
// It goes on in a new file where the old one was removed or changed. Lines that
// the system could not bring to the disk count as lost, and what follows them
// is in a new file.
class AuditLog {
 public:
  // Opens the log in `directory` and goes on after its last line; `path` is for
  // messages. Takes a lock there that ends with this object. A line that a
  // crash cut off stays and is followed by a line "recovered" that names it.
  // FAILED_PRECONDITION: another daemon has the lock, or the directory or its
  // newest file belongs to somebody else; DATA_LOSS: the log's end was altered.
  // The message says what to do.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(
      os::Fd directory, const std::string& path,
      const AuditLogOptions& options);
  // Brings all lines to the disk unless fsync is off.
  ~AuditLog();

  // Writes one line. `fields` and `first_members` are as for policy::AuditBody.
  // INVALID_ARGUMENT: what was given can't be made a line; the log stays
  // healthy. Other errors say what is wrong with the log; the line is then not
  // in it, or (with kAlways) may not stay there.
  absl::Status Append(std::string_view event,
                      const nlohmann::ordered_json& fields,
                      std::string_view first_members = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns whether Append would work, as far as can be told without writing,
  // in some microseconds. If the last check was no longer than `at_most_ago`
  // ago, returns what that check found. When the log is unhealthy, this also
  // tries whether it can go on, at most twice a second.
  absl::Status Ready(std::chrono::milliseconds at_most_ago = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The last line that was written.
  policy::AuditHead Head() const ABSL_LOCKS_EXCLUDED(mutex_);

  // What became of the lines that this object was given so far.
  struct State {
    uint64_t written = 0;
    uint64_t lost = 0;
    absl::Status failure;  // OK: it is healthy
  };
  // Returns at once; it never waits for the disk.
  State state() const ABSL_LOCKS_EXCLUDED(state_mutex_);
  // How long the sync that is under way has been waiting for the disk.
  absl::Duration SyncTime() const ABSL_LOCKS_EXCLUDED(state_mutex_);

  const std::string& path() const { return path_; }

 private:
  AuditLog(os::Fd directory, std::string path, const AuditLogOptions& options);
  absl::Status GoOn() ABSL_LOCKS_EXCLUDED(mutex_);
  // Checks that the directory is still where it was.
  absl::Status CheckDirectory() const;
  // Checks that directory and file are as this log left them.
  absl::Status Check() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a line, into the next file when this one has no room for it.
  absl::Status Write(absl::string_view body)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteHere(absl::string_view bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins the next file. Does not delete old ones; DeleteOldest does.
  absl::Status BeginFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeleteOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the log unhealthy; returns `why`.
  absl::Status Fail(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the log healthy again, if that is possible and it is time to try.
  void TryAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Resume() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteResumed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Updates what state() returns.
  void UpdateState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int SyncData(const os::Fd& file) ABSL_LOCKS_EXCLUDED(state_mutex_);
  // Waits until the first `lines` lines are on the disk. When several threads
  // wait at the same time, one of them syncs for all.
  absl::Status Sync(uint64_t lines) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes note that the file could not be brought to the disk, and returns the
  // error that errno tells.
  absl::Status SyncFailed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SyncLoop() ABSL_LOCKS_EXCLUDED(mutex_);
  bool NotSyncing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !syncing_;
  }

  const os::Fd directory_;
  const std::string path_;
  const AuditLogOptions options_;

  mutable absl::Mutex mutex_;
  policy::AuditHead head_ ABSL_GUARDED_BY(mutex_);
  // Null before the first line. Shared with the thread that syncs it.
  std::shared_ptr<const os::Fd> file_ ABSL_GUARDED_BY(mutex_);
  uint64_t file_seq_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The bytes of a partly written line that could be neither completed nor
  // removed.
  uint64_t leftover_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // OK: healthy
  uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those of them that were lost before it became unhealthy.
  uint64_t lost_before_ ABSL_GUARDED_BY(mutex_) = 0;
  // When directory and file were last checked.
  MonotonicTime looked_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime next_try_ ABSL_GUARDED_BY(mutex_);

  // How many lines this object wrote, and how many of them are on the disk.
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t synced_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sync_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  bool syncing_ ABSL_GUARDED_BY(mutex_) = false;
  // True when the end of the file may not be what was written to it.
  bool doubtful_ ABSL_GUARDED_BY(mutex_) = false;
  bool resuming_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread sync_thread_;

  // Held for moments only.
  mutable absl::Mutex state_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  State state_ ABSL_GUARDED_BY(state_mutex_);
  std::optional<MonotonicTime> sync_began_ ABSL_GUARDED_BY(state_mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_AUDIT_AUDIT_LOG_H_
