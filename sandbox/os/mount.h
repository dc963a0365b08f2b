#ifndef SANDGLASS_SANDBOX_OS_MOUNT_H_
#define SANDGLASS_SANDBOX_OS_MOUNT_H_

#include <cstdint>
#include <string>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Thin wrappers of mount(2) and of the mount API of Linux 5.2 (fsopen…,
// open_tree, move_mount; mount_setattr: 5.12). All return false or an empty Fd
// with errno set.
// Preconditions: CAP_SYS_ADMIN in the owner of the mount namespace.

// What a mount forbids, to be or'ed. The values are those of MS_* and of
// MOUNT_ATTR_*, which are the same for these four.
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kNoSuid = 2;
inline constexpr uint64_t kNoDev = 4;
inline constexpr uint64_t kNoExec = 8;

// A detached recursive copy of the mounts at `path`.
Fd CloneTree(const char* path);
// The same of the directory that `directory` is, without mounts below it.
Fd CloneDirectory(const Fd& directory);
// Attaches a detached mount at `path`.
bool AttachTree(const Fd& tree, const char* path);
// Sets kReadOnly… on a mount and all below it.
bool SetTreeAttributes(const Fd& tree, uint64_t attributes);
// The same for the one mount at `path`.
bool SetMountAttributes(const char* path, uint64_t attributes);
// Binds `source` (a directory or file and all mounted below) at `target` with
// kReadOnly… set before anyone can see it.
bool BindWith(const char* source, const char* target, uint64_t attributes);

struct TmpfsOptions {
  uint64_t bytes = 0;
  uint64_t inodes = 0;
  unsigned mode = 0755;
  uint64_t flags = 0;  // kReadOnly…
};
bool MountTmpfs(const char* target, const TmpfsOptions& options);
// Gives the tmpfs that is mounted at `path` other bounds, larger or smaller
// (fspick(2) and fsconfig(2), Linux 5.2). EINVAL when it holds more already.
bool ResizeTmpfs(const char* path, uint64_t bytes, uint64_t inodes);

struct ProcOptions {
  uint64_t flags = 0;           // kReadOnly…
  bool hide_processes = false;  // hidepid=2: others' are not even listed
};
// A new /proc of the caller's pid namespace. EPERM in a user namespace that
// sees no other proc whole.
bool MountProc(const char* target, const ProcOptions& options);

// New pseudo-terminals, at most `most`, that share nothing with others'. They
// belong to `owner`, and only the ids' own root may open ptmx. Read-only, so
// nobody changes their modes; terminals are written to all the same.
bool MountTerminals(const char* target, unsigned owner, unsigned most);

// Binds `source` (a directory or file, without what is mounted below) at
// `target`.
bool BindMount(const char* source, const char* target);

// Takes the mount at `path` and all below it out of the tree; it ends when its
// last user does (MNT_DETACH).
bool DetachMount(const char* path);

// Every mount of the namespace from the root down neither sends nor gets mount
// events…
bool MakeMountsPrivate();
// …or gets those of its master, but sends none (mount_namespaces(7)).
bool MakeMountsSlave();

// pivot_root(2).
bool PivotRoot(const char* new_root, const char* put_old);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_MOUNT_H_
