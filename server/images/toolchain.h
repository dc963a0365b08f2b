#ifndef SANDGLASS_SERVER_IMAGES_TOOLCHAIN_H_
#define SANDGLASS_SERVER_IMAGES_TOOLCHAIN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::server {

// The files of Debian's package database.
struct PackageDatabase {
  std::string status = "/var/lib/dpkg/status";
  // This directory changes as soon as packages begin to change.
  std::string journal = "/var/lib/dpkg/updates";
};

// Describes the state of files by name, kind, size, times, inode and, for
// links, target. For each path it looks at the path itself; for a directory
// also at what is directly in it; for a path that ends in "/**" at everything
// below. Empty when there are more than `max` files.
std::optional<std::string> StateOf(const std::vector<std::string>& paths,
                                   size_t max);

// Identifies the compilers that would be run now. Thread-safe.
class Toolchain {
 public:
  // `image` is the state that the parts of the image besides its /usr had when
  // the image was made; `root` is the directory where the host has the image,
  // "" for the host's own files.
  explicit Toolchain(std::string image, const PackageDatabase& packages = {},
                     std::string root = "");

  // Returns a text that changes with every change of an installed package, of
  // one of `executables` (found by name, with links followed), of `reads`
  // (paths as in StateOf) and of the image. Takes some twenty system calls.
  // Empty when the state can't be told: there is no package database, an
  // executable is missing, or there is too much to look at.
  std::optional<std::string> Identity(
      const std::vector<std::string>& executables,
      const std::vector<std::string>& reads) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The digest of the package database, which is read only when it has changed.
  std::optional<std::string> Packages() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string image_;
  const std::string root_;
  const PackageDatabase packages_;  // paths below root_
  mutable absl::Mutex mutex_;
  // The state of the database's file when it was last read, and its digest.
  mutable std::string read_state_ ABSL_GUARDED_BY(mutex_);
  mutable std::string digest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_TOOLCHAIN_H_
