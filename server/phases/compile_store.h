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

// The directory of the compile cache: a file for each key, named by its 64
// hexadecimal digits, 0600, of the server's uid; the directory is 0700. No jail
// has it. Several daemons may share it. Thread-safe; methods block on the disk.
class CompileStore {
 public:
  // Makes the directory as root, before the server's rights go. Refuses one
  // that belongs to anybody but root or `owner`, or is in such a one's.
  static absl::StatusOr<CompileStore> Open(const std::string& directory,
                                           uid_t owner, gid_t group);

  const std::string& directory() const { return path_; }

  // The bytes of a file as they are. NOT_FOUND; DATA_LOSS when what is there is
  // none of ours: no regular file, of another owner, open to others, with a
  // second name, or larger than `max_bytes`. UNAVAILABLE when it can't be read
  // now.
  absl::StatusOr<std::string> Read(const std::string& key,
                                   uint64_t max_bytes) const;

  // Puts a file in place, whole or not at all. It may replace another. What a
  // crash of the machine leaves of it is for the reader to find.
  absl::Status Write(const std::string& key, std::string_view bytes) const;

  // Removes whatever stands there. False when something is left.
  bool Remove(const std::string& key) const;

  // Notes that a file was of use just now.
  void Touch(const std::string& key) const;

  struct Found {
    std::string key;
    uint64_t bytes = 0;
    timespec used = {};  // the last time
  };
  // All files that bear the name of a key, the longest unused first. Removes
  // what writers left unfinished an hour ago.
  std::vector<Found> List() const;

 private:
  CompileStore(std::string path, os::Fd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  // Gives a file that has none a name.
  bool Name(const os::Fd& file, const std::string& name) const;

  std::string path_;
  os::Fd directory_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_COMPILE_STORE_H_
