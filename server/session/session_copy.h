#ifndef SANDGLASS_SERVER_SESSION_SESSION_COPY_H_
#define SANDGLASS_SERVER_SESSION_SESSION_COPY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "internal/durable.pb.h"
#include "sandbox/os/fd.h"
#include "server/base/durable_log.h"
#include "server/session/disk_budget.h"

namespace sandglass::server {

// The durable copy of one session: a directory of the server with
//   record   who the session is (StoredSession), written anew with each change;
//   files    which files there are (StoredChanges), one record per saving;
//   1, 2, 3… the files' contents, never changed once `files` names them.
// Thread-safe; all methods block on the disk.
class SessionCopy {
 public:
  // All files by path; empty when nothing was saved yet.
  using Files = std::map<std::string, internal::StoredEntry>;

  // `directory` is the copy's own. `disk` must outlive the copy.
  SessionCopy(os::Fd directory, std::shared_ptr<DiskBudget> disk,
              std::string session_id = "");
  ~SessionCopy();
  SessionCopy(const SessionCopy&) = delete;
  SessionCopy& operator=(const SessionCopy&) = delete;

  absl::Status WriteRecord(const internal::StoredSession& record)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Notes when the session was last used. This is cheap.
  void Touch(absl::Time used) const;

  // DATA_LOSS: what is there isn't what was written.
  absl::StatusOr<Files> Load() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads a file's content as it was written, in pieces of at most 256 KiB,
  // holes included; ends with the error of `take`. DATA_LOSS as above.
  absl::Status Read(
      const internal::StoredEntry& entry,
      const std::function<absl::Status(absl::string_view)>& take) const;

  // The files that could not be put into the session's jail, and why, when that
  // was last tried. Paths are bytes, not always UTF-8.
  struct Missing {
    uint64_t count = 0;
    std::vector<std::pair<std::string, std::string>> first;  // a few of them
  };
  void SetMissing(Missing missing) ABSL_LOCKS_EXCLUDED(missing_mutex_);
  Missing missing() const ABSL_LOCKS_EXCLUDED(missing_mutex_);

  const std::string& session_id() const { return session_id_; }
  // The bytes on the disk that count for this copy.
  uint64_t bytes() const { return bytes_; }
  // From now on nothing is written, because the session has ended.
  void Close() { closed_ = true; }
  bool closed() const { return closed_; }

  // Gives an empty copy the same files; contents are shared on the disk.
  absl::Status CloneInto(SessionCopy& child) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class CopyChange;

  absl::Status LoadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Apply(const internal::StoredChanges& changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Rewrites the log when most of it is no longer needed, which makes it small.
  absl::Status Compact() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Grow(uint64_t bytes);
  void Shrink(uint64_t bytes);
  // Empty when it can't be opened, with errno.
  os::Fd OpenBlob(uint64_t blob) const;
  void RemoveBlob(uint64_t blob, uint64_t bytes);

  const os::Fd directory_;
  const std::shared_ptr<DiskBudget> disk_;
  const std::string session_id_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> closed_{false};

  // A mutex of its own, so that reading only this never waits for the disk.
  mutable absl::Mutex missing_mutex_;
  Missing missing_ ABSL_GUARDED_BY(missing_mutex_);

  absl::Mutex mutex_;
  bool loaded_ ABSL_GUARDED_BY(mutex_) = false;
  DurableLog log_ ABSL_GUARDED_BY(mutex_);
  Files files_ ABSL_GUARDED_BY(mutex_);
  uint64_t name_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  struct Blob {
    uint32_t names = 0;
    uint64_t bytes = 0;
  };
  std::map<uint64_t, Blob> blobs_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_blob_ ABSL_GUARDED_BY(mutex_) = 1;
};

// The changes of one saving, which come into force with Commit, all or none.
// Use it from one thread at a time; a copy may have only one change at a time.
class CopyChange {
 public:
  // `max_bytes` bounds how much may be written: files that are renamed again
  // and again while they are saved can be reported each time.
  explicit CopyChange(SessionCopy& copy,
                      uint64_t max_bytes = std::numeric_limits<uint64_t>::max())
      : copy_(copy), left_(max_bytes) {}
  // Without Commit nothing of the change is left.
  ~CopyChange();
  CopyChange(const CopyChange&) = delete;
  CopyChange& operator=(const CopyChange&) = delete;

  // Files that aren't put from now on count as removed.
  void BeginAnew() { changes_.set_all(true); }
  // Puts a directory or a link, by its path.
  absl::Status Put(internal::StoredEntry entry);
  // Puts a regular file with the bytes that can be read from `content` now.
  // `inode` is the same for all names of one file, and 0 for a file that has no
  // other name. A file that changes meanwhile is stored as it is read. The file
  // is likely the one that was named `old_path` before. FAILED_PRECONDITION:
  // there is more than there may be.
  absl::Status PutFile(internal::StoredEntry entry, const os::Fd& content,
                       uint64_t inode, const std::string& old_path);
  void Remove(const std::string& path);
  // RESOURCE_EXHAUSTED: the disk, or the server's budget, is full.
  absl::Status Commit();

 private:
  absl::Status Write(const os::Fd& content, internal::StoredEntry& entry);
  bool SameContent(const os::Fd& content, uint64_t size,
                   const internal::StoredEntry& before) const;

  SessionCopy& copy_;
  uint64_t left_;  // how many bytes may still be written
  internal::StoredChanges changes_;
  std::map<std::string, int> put_;  // index in changes_
  std::map<uint64_t, internal::StoredEntry> by_inode_;
  std::set<uint64_t> taken_;  // blobs that are kept under this change
  std::vector<std::pair<uint64_t, uint64_t>> written_;  // blobs and bytes
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_COPY_H_
