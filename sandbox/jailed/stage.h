#ifndef SANDGLASS_SANDBOX_JAILED_STAGE_H_
#define SANDGLASS_SANDBOX_JAILED_STAGE_H_

#include <sys/types.h>

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Opens the directory /workspace of the caller's root.
os::Fd OpenWorkspace();

// Makes a new file at `path`, which is relative and was checked by the daemon,
// and the directories that it needs. Returns an empty Fd and sets errno on
// failure. Precondition: the umask is 0.
os::Fd CreateStaged(const os::Fd& workspace, const char* path, mode_t mode);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_STAGE_H_
