#ifndef SANDGLASS_SERVER_IMAGES_TOOLCHAIN_H_
#define SANDGLASS_SERVER_IMAGES_TOOLCHAIN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::server {

// The debian package database's files.
struct PackageDatabase {
  std::string status = "/var/lib/dpkg/status";
  // Changes as soon as packages begin to change.
  std::string journal = "/var/lib/dpkg/updates";
};

// The state of files by name, kind, size, times, inode and, of links, target:
// of each path itself; of a directory also what is directly in it; with "/**"
// at its end all below. Empty when there are more than `most` files.
std::optional<std::string> StateOf(const std::vector<std::string>& paths,
                                   size_t most);

// Tells by what compilers would be run now. Thread-safe.
class Toolchain {
 public:
  // `image`: the state of what the image holds besides its /usr, as it was when
  // it was made; `root`: where the host has the image, "" for its own.
  explicit Toolchain(std::string image, PackageDatabase packages = {},
                     std::string root = "");

  // A text that changes with every change of an installed package, of the
  // `executables` (by name, links followed) and of `reads` (as in StateOf), and
  // with the image. Some twenty system calls. Empty when it can't be told:
  // there is no package database, an executable is missing, or there is too
  // much to look at.
  std::optional<std::string> Identity(
      const std::vector<std::string>& executables,
      const std::vector<std::string>& reads) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Digest of the package database; reads it only when it was changed.
  std::optional<std::string> Packages() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string image_;
  const std::string root_;
  const PackageDatabase packages_;  // below that
  mutable absl::Mutex mutex_;
  // What the database's file was when it was read, and its digest.
  mutable std::string read_state_ ABSL_GUARDED_BY(mutex_);
  mutable std::string digest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_TOOLCHAIN_H_
