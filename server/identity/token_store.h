#ifndef SANDGLASS_SERVER_IDENTITY_TOKEN_STORE_H_
#define SANDGLASS_SERVER_IDENTITY_TOKEN_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/identity/token.h"

namespace sandglass::server {

// The tokens that are in force, in one file that this daemon alone writes, with
// mode 0600, and that anybody who may write it may replace: what it says then
// counts from the next Refresh on. A file that can't be read or is wrong leaves
// those in force that were, but for the ones that have expired. Thread-safe.
class TokenStore {
 public:
  using WallClock = std::function<absl::Time()>;

  // The file is tokens.json in `directory`, which `path` names in messages; it
  // need not exist yet. INVALID_ARGUMENT when what is there is wrong, is no
  // regular file, or may be read or written by others than its owner.
  static absl::StatusOr<std::unique_ptr<TokenStore>> Open(
      os::Fd directory, const std::string& path, WallClock clock = absl::Now);

  // Who calls with this value; nullopt for a value of no token in force. Takes
  // as long for a wrong secret as for a right one, and never waits for a disk.
  std::optional<Identity> Find(absl::string_view value) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether a token with this id is in force.
  bool Has(const std::string& id) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Reads the file again if it has changed since.
  void Refresh() ABSL_LOCKS_EXCLUDED(file_mutex_, mutex_);

  // Keeps `token`, whose id, hash and time are made here, and returns its
  // value, which is nowhere else. The token is on disk when this returns.
  // RESOURCE_EXHAUSTED when there are too many; UNAVAILABLE when the file can't
  // be written.
  absl::StatusOr<std::string> Create(Token& token)
      ABSL_LOCKS_EXCLUDED(file_mutex_, mutex_);
  // Returns what the token was. NOT_FOUND when there is none. From when this
  // returns nobody can call with it.
  absl::StatusOr<Token> Revoke(const std::string& id)
      ABSL_LOCKS_EXCLUDED(file_mutex_, mutex_);
  // The oldest first, with those that expired in the last week.
  std::vector<Token> List() const ABSL_LOCKS_EXCLUDED(mutex_);

  // What is wrong with the file now; OK when it was read.
  absl::Status state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What shows that a file is another one or has changed.
  struct Version {
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t changed_ns = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };

  TokenStore(os::Fd directory, std::string path, WallClock clock)
      : directory_(std::move(directory)),
        path_(std::move(path)),
        clock_(std::move(clock)) {}
  absl::Status Load() ABSL_EXCLUSIVE_LOCKS_REQUIRED(file_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Write(const std::vector<Token>& tokens)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(file_mutex_);
  void Use(std::vector<Token> tokens) ABSL_LOCKS_EXCLUDED(mutex_);

  const os::Fd directory_;
  const std::string path_;  // of the file
  const WallClock clock_;
  // ORDER: held while the file is read or written, and taken before mutex_.
  absl::Mutex file_mutex_;
  std::optional<Version> version_ ABSL_GUARDED_BY(file_mutex_);
  mutable absl::Mutex mutex_;
  std::vector<Token> tokens_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, size_t, std::less<>> places_ ABSL_GUARDED_BY(mutex_);
  absl::Status state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_TOKEN_STORE_H_
