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
// A line is there as a whole or not at all once Append has returned. Each
// Append looks whether the directory and the file are still there and as they
// were left. When they are not, or a line can't be written, the log is
// unhealthy: every Append fails until it can be written again. It then goes on
// by itself, with a line "resumed" that says why and how many lines were lost;
// in a new file where the old one was removed or changed. Lines that the system
// could not bring to the disk count as lost, and what follows them is in a new
// file.
class AuditLog {
 public:
  // Goes on where the log in `directory` ends; `path` is for messages. Takes a
  // lock there that ends with this object. What a crash left of a line stays
  // and is followed by a line "recovered" that names it.
  // FAILED_PRECONDITION: another daemon has the lock, or the directory or its
  // newest file is somebody else's; DATA_LOSS: the log's end was altered. The
  // message says what to do.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(
      os::Fd directory, const std::string& path,
      const AuditLogOptions& options);
  // Brings all lines to the disk unless fsync is off.
  ~AuditLog();

  // Writes one line. `fields` and `first_members` as for policy::AuditBody.
  // INVALID_ARGUMENT: what was given can't be a line, the log stays healthy.
  // Else what is wrong with the log; the line is then not in it, or (kAlways)
  // may not stay there.
  absl::Status Append(std::string_view event,
                      const nlohmann::ordered_json& fields,
                      std::string_view first_members = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether Append would work as far as can be told without writing, in some
  // microseconds; of a log that was looked at no longer than `at_most_ago` ago,
  // what was found then. Of an unhealthy log it tries whether it can go on,
  // twice a second at most.
  absl::Status Ready(std::chrono::milliseconds at_most_ago = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The last line that was written.
  policy::AuditHead Head() const ABSL_LOCKS_EXCLUDED(mutex_);

  // What became of this object's lines so far.
  struct State {
    uint64_t written = 0;
    uint64_t lost = 0;
    absl::Status failure;  // OK: it is healthy
  };
  // Never waits for the disk.
  State state() const ABSL_LOCKS_EXCLUDED(state_mutex_);
  // For how long the disk has been at the sync that goes on.
  absl::Duration SyncTime() const ABSL_LOCKS_EXCLUDED(state_mutex_);

  const std::string& path() const { return path_; }

 private:
  AuditLog(os::Fd directory, std::string path, const AuditLogOptions& options);
  absl::Status GoOn() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the directory is where it was.
  absl::Status CheckDirectory() const;
  // Whether directory and file are as they were left.
  absl::Status Check() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a line, in the next file where it has no room in this one.
  absl::Status Write(absl::string_view body)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteHere(absl::string_view bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing is deleted for it yet.
  absl::Status BeginFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeleteOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the log unhealthy; returns `why`.
  absl::Status Fail(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes it healthy again if that is possible and time to try.
  void TryAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Resume() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteResumed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What state() says from now on.
  void TellState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int SyncData(const os::Fd& file) ABSL_LOCKS_EXCLUDED(state_mutex_);
  // Waits until the first `lines` lines are on the disk. One of those who wait
  // at the same time does it for all.
  absl::Status Sync(uint64_t lines) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The file could not be brought to the disk, as errno says.
  absl::Status SyncFailed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SyncLoop() ABSL_LOCKS_EXCLUDED(mutex_);
  bool NotSyncing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !syncing_;
  }
  bool Stopping() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_;
  }

  const os::Fd directory_;
  const std::string path_;
  const AuditLogOptions options_;

  mutable absl::Mutex mutex_;
  policy::AuditHead head_ ABSL_GUARDED_BY(mutex_);
  // Null before the first line. Shared with a thread that syncs it.
  std::shared_ptr<const os::Fd> file_ ABSL_GUARDED_BY(mutex_);
  uint64_t file_seq_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Bytes of a line that could be neither ended nor taken off.
  uint64_t leftover_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // OK: healthy
  uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;     // lines, since then
  uint64_t lost_in_all_ ABSL_GUARDED_BY(mutex_) = 0;
  MonotonicTime looked_ ABSL_GUARDED_BY(mutex_);  // at directory and file
  MonotonicTime next_try_ ABSL_GUARDED_BY(mutex_);

  // Lines of this object's, and how many of them are on the disk.
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t synced_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sync_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  bool syncing_ ABSL_GUARDED_BY(mutex_) = false;
  // The end of the file may not be what was written to it.
  bool doubtful_ ABSL_GUARDED_BY(mutex_) = false;
  bool resuming_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread sync_thread_;

  // Held for moments only, and after mutex_.
  mutable absl::Mutex state_mutex_;
  State state_ ABSL_GUARDED_BY(state_mutex_);
  std::optional<MonotonicTime> sync_began_ ABSL_GUARDED_BY(state_mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_AUDIT_AUDIT_LOG_H_
