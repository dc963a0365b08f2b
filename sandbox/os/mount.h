#ifndef SANDGLASS_SANDBOX_OS_MOUNT_H_
#define SANDGLASS_SANDBOX_OS_MOUNT_H_

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Thin wrappers of mount(2) and of the mount API of Linux 5.2 (fsopen…,
// open_tree, move_mount; mount_setattr needs 5.12). All return false or an
// empty Fd and set errno on failure.
// Preconditions: CAP_SYS_ADMIN in the user namespace that owns the mount
// namespace.

// Flags for what a mount forbids, to be combined with |. The values of these
// four are the same as MS_* and as MOUNT_ATTR_*.
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kNoSuid = 2;
inline constexpr uint64_t kNoDev = 4;
inline constexpr uint64_t kNoExec = 8;

// Makes a detached recursive copy of the mounts at `path`.
Fd CloneTree(const char* path);
// The same for the directory that `directory` refers to, without the mounts
// below it.
Fd CloneDirectory(const Fd& directory);
// Attaches a detached mount at `path`.
bool AttachTree(const Fd& tree, const char* path);
// Sets attributes (kReadOnly…) on a mount and on all mounts below it.
bool SetTreeAttributes(const Fd& tree, uint64_t attributes);
// The same for the single mount at `path`.
bool SetMountAttributes(const char* path, uint64_t attributes);
// Binds `source` (a directory or file, with everything mounted below it) at
// `target`. The attributes (kReadOnly…) are set before any process can see the
// mount.
bool BindWith(const char* source, const char* target, uint64_t attributes);

struct TmpfsOptions {
  uint64_t bytes = 0;
  uint64_t inodes = 0;
  unsigned mode = 0755;
  uint64_t flags = 0;  // kReadOnly…
};
bool MountTmpfs(const char* target, const TmpfsOptions& options);
// Gives the tmpfs that is mounted at `path` new bounds, larger or smaller
// (fspick(2) and fsconfig(2), Linux 5.2). EINVAL when it already holds more
// than these.
bool ResizeTmpfs(const char* path, uint64_t bytes, uint64_t inodes);

struct ProcOptions {
  uint64_t flags = 0;           // kReadOnly…
  bool hide_processes = false;  // hidepid=2: others' aren't even listed
};
// Mounts a new /proc of the caller's pid namespace. EPERM in a user namespace
// that sees no other proc without anything masked.
bool MountProc(const char* target, const ProcOptions& options);

// Mounts the control groups (version 2) of the caller's cgroup namespace, with
// the flags kReadOnly….
bool MountCgroups(const char* target, uint64_t flags);

// Mounts new pseudo-terminals, at most `max` of them, which share nothing with
// other devpts mounts. They belong to `owner`, and only root of the user
// namespace may open ptmx. The mount is read-only, so that nobody can change
// their modes; terminals can be written to nevertheless.
bool MountTerminals(const char* target, unsigned owner, unsigned max);

// Binds `source` (a directory or file, without what is mounted below) at
// `target`.
bool BindMount(const char* source, const char* target);

// Detaches the mount at `path` and everything below it from the tree. It ends
// when its last user does (MNT_DETACH).
bool DetachMount(const char* path);

// Makes every mount of the namespace, from the root down, neither send nor
// receive mount events…
bool MakeMountsPrivate();
// …or receive those of its master but send none (mount_namespaces(7)).
bool MakeMountsSlave();

// pivot_root(2).
bool PivotRoot(const char* new_root, const char* put_old);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_MOUNT_H_
