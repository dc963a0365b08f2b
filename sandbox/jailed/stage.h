#ifndef SANDGLASS_SANDBOX_JAILED_STAGE_H_
#define SANDGLASS_SANDBOX_JAILED_STAGE_H_

#include <sys/types.h>

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The directory /workspace of the caller's root.
os::Fd OpenWorkspace();

// A new file for `path`, relative and checked by the daemon, with the
// directories it needs. Empty with errno on failure. Precondition: the umask
// is 0.
os::Fd CreateStaged(const os::Fd& workspace, const char* path, mode_t mode);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_STAGE_H_
