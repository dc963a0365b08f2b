#ifndef SANDGLASS_SERVER_PHASES_COMPILE_STORE_H_
#define SANDGLASS_SERVER_PHASES_COMPILE_STORE_H_

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// The directory of the compile cache. It has a file for each key, named by the
// key's 64 hexadecimal digits, with mode 0600 and owned by the server's uid;
// the directory's mode is 0700. No jail sees it. Several daemons may share it.
// Thread-safe; methods block on the disk.
class CompileStore {
 public:
  // Makes the directory as root, before the server gives up its rights. Refuses
  // a directory that belongs to somebody other than root and `owner`, or that
  // is in such a directory.
  static absl::StatusOr<CompileStore> Open(const std::string& directory,
                                           uid_t owner, gid_t group);

  const std::string& directory() const { return path_; }

  // Returns the bytes of a file unchanged. NOT_FOUND: there is none. DATA_LOSS:
  // what is there can't be ours, since it isn't a regular file, has another
  // owner, is open to others, has a second name, or is larger than `max_bytes`.
  // UNAVAILABLE: it can't be read now.
  absl::StatusOr<std::string> Read(const std::string& key,
                                   uint64_t max_bytes) const;

  // Puts a file in place, completely or not at all; it may replace another. It
  // isn't synced, so after a crash of the machine readers have to check it.
  absl::Status Write(const std::string& key, std::string_view bytes) const;

  // Removes whatever has that name. Returns false when something is left.
  bool Remove(const std::string& key) const;

  // Notes that a file was used just now.
  void Touch(const std::string& key) const;

  struct Found {
    std::string key;
    uint64_t bytes = 0;
    timespec used = {};  // when it was last used
  };
  // Lists all files that have the name of a key, the longest unused first.
  // Removes files that writers left unfinished more than an hour ago.
  std::vector<Found> List() const;

 private:
  CompileStore(std::string path, os::Fd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;
  os::Fd directory_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILE_STORE_H_
