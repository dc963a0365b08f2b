#ifndef SANDGLASS_SANDBOX_OS_OPEN_BENEATH_H_
#define SANDGLASS_SANDBOX_OS_OPEN_BENEATH_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Opens a file with openat2(2) and RESOLVE_BENEATH, NO_XDEV and NO_MAGICLINKS:
// the result is always below `directory` and in its file system, whatever links
// hostile code has planted. The descriptor is close-on-exec. Returns an empty
// Fd and sets errno on failure (EXDEV: the path leads outside).
Fd OpenBeneath(const Fd& directory, const char* path, int flags);

// Makes or truncates a regular file, and follows no symbolic link on the way.
// Never blocks: when the name belongs to anything other than a regular file,
// the call fails (EEXIST, ENXIO, EISDIR…).
Fd CreateBeneath(const Fd& directory, const char* path, mode_t mode);

// Opens a directory below `directory` (O_PATH). Fails with ELOOP if there is a
// symbolic link anywhere on the way.
Fd OpenDirectoryNoLinks(const Fd& directory, const char* path);

// Opens a file with openat2(2), RESOLVE_IN_ROOT and NO_MAGICLINKS: `root`
// serves as "/" for "..", absolute links and absolute paths alike. The
// descriptor is close-on-exec. A file that is made gets the mode `mode`.
// Returns an empty Fd and sets errno on failure.
Fd OpenInRoot(const Fd& root, const char* path, int flags, mode_t mode = 0);

// The path to which `path` leads inside the directory `root`, with all links
// followed in the way of OpenInRoot. nullopt when it leads nowhere.
std::optional<std::string> RealPathInRoot(const std::string& root,
                                          const std::string& path);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_OPEN_BENEATH_H_
