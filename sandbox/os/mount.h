#ifndef SANDGLASS_SANDBOX_OS_MOUNT_H_
#define SANDGLASS_SANDBOX_OS_MOUNT_H_

#include <cstdint>
#include <string>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Thin wrappers of mount(2) and of the mount API of Linux 5.2 (fsopen…,
// open_tree, move_mount; mount_setattr: 5.12). All return false or an empty Fd
// with errno set.

// A detached recursive copy of the mounts at `path`.
Fd CloneTree(const char* path);
// Attaches a detached mount at `path`.
bool AttachTree(const Fd& tree, const char* path);
// Sets MOUNT_ATTR_* flags on a mount and all below it.
bool SetTreeAttributes(const Fd& tree, uint64_t attributes);
// The same for the one mount at `path`.
bool SetMountAttributes(const char* path, uint64_t attributes);
// Binds `source` (a directory or file and all mounted below) at `target` with
// MOUNT_ATTR_* flags set before anyone can see it.
bool BindWith(const char* source, const char* target, uint64_t attributes);

struct TmpfsOptions {
  uint64_t bytes = 0;
  uint64_t inodes = 0;
  unsigned mode = 0755;
  unsigned long flags = 0;  // MS_*
};
bool MountTmpfs(const char* target, const TmpfsOptions& options);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_MOUNT_H_
