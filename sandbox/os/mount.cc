#include "sandbox/os/mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

// <sys/mount.h> and <linux/mount.h> can't be included together with glibc
// 2.36; this is the one call that is needed of the former.
extern "C" int mount(const char* source, const char* target, const char* type,
                     unsigned long flags, const void* data) noexcept;

namespace sandglass::os {

Fd CloneTree(const char* path) {
  return Fd(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path,
                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
}

bool AttachTree(const Fd& tree, const char* path) {
  return ::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, path,
                   MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

bool SetTreeAttributes(const Fd& tree, uint64_t attributes) {
  struct mount_attr attr = {};
  attr.attr_set = attributes;
  return ::syscall(SYS_mount_setattr, tree.get(), "",
                   AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) == 0;
}

bool SetMountAttributes(const char* path, uint64_t attributes) {
  struct mount_attr attr = {};
  attr.attr_set = attributes;
  return ::syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &attr, sizeof(attr)) ==
         0;
}

bool BindWith(const char* source, const char* target, uint64_t attributes) {
  const Fd tree = CloneTree(source);
  return tree.valid() && SetTreeAttributes(tree, attributes) &&
         AttachTree(tree, target);
}

bool MountTmpfs(const char* target, const TmpfsOptions& options) {
  char data[128];
  std::snprintf(data, sizeof(data), "size=%llu,nr_inodes=%llu,mode=%o",
                static_cast<unsigned long long>(options.bytes),
                static_cast<unsigned long long>(options.inodes), options.mode);
  return ::mount("tmpfs", target, "tmpfs", options.flags, data) == 0;
}

}  // namespace sandglass::os
