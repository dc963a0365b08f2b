#ifndef SANDGLASS_SANDBOX_OS_OPEN_BENEATH_H_
#define SANDGLASS_SANDBOX_OS_OPEN_BENEATH_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// openat2(2) with RESOLVE_BENEATH, NO_XDEV and NO_MAGICLINKS: the result is in
// the directory's own file system and below it, whatever links hostile code
// planted. Close-on-exec. Empty with errno on failure (EXDEV: leads out).
Fd OpenBeneath(const Fd& directory, const char* path, int flags);

// Makes or truncates a regular file; no symbolic link on the way. Never waits:
// what else has the name is refused (EEXIST, ENXIO, EISDIR…).
Fd CreateBeneath(const Fd& directory, const char* path, mode_t mode);

// A directory below `directory` (O_PATH). Refuses any symbolic link on the way
// (ELOOP).
Fd OpenDirectoryNoLinks(const Fd& directory, const char* path);

// openat2(2) with RESOLVE_IN_ROOT and NO_MAGICLINKS: `root` is taken for "/",
// whatever "..", absolute links and absolute paths say. Close-on-exec. `mode`
// is that of a file to be made. Empty with errno on failure.
Fd OpenInRoot(const Fd& root, const char* path, int flags, mode_t mode = 0);

// Where `path` leads in the directory `root`, as a path in it, with all links
// followed as OpenInRoot does. Absent when it leads nowhere.
std::optional<std::string> RealPathInRoot(const std::string& root,
                                          const std::string& path);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_OPEN_BENEATH_H_
