#include "sandbox/os/mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

namespace sandglass::os {

static_assert(kReadOnly == MS_RDONLY && kReadOnly == MOUNT_ATTR_RDONLY &&
              kNoSuid == MS_NOSUID && kNoSuid == MOUNT_ATTR_NOSUID &&
              kNoDev == MS_NODEV && kNoDev == MOUNT_ATTR_NODEV &&
              kNoExec == MS_NOEXEC && kNoExec == MOUNT_ATTR_NOEXEC);

Fd CloneTree(const char* path) {
  return Fd(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path,
                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
}

Fd CloneDirectory(const Fd& directory) {
  return Fd(static_cast<int>(
      ::syscall(SYS_open_tree, directory.get(), "",
                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)));
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

bool ResizeTmpfs(const char* path, uint64_t bytes, uint64_t inodes) {
  const Fd context(
      static_cast<int>(::syscall(SYS_fspick, AT_FDCWD, path, FSPICK_CLOEXEC)));
  const auto set = [&](const char* key, uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof(text), "%llu",
                  static_cast<unsigned long long>(value));
    return ::syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_STRING, key,
                     text, 0) == 0;
  };
  return context.valid() && set("size", bytes) && set("nr_inodes", inodes) &&
         ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_RECONFIGURE,
                   nullptr, nullptr, 0) == 0;
}

bool MountProc(const char* target, const ProcOptions& options) {
  return ::mount("proc", target, "proc", options.flags,
                 options.hide_processes ? "hidepid=2" : nullptr) == 0;
}

bool MountCgroups(const char* target, uint64_t flags) {
  return ::mount("cgroup2", target, "cgroup2", flags, nullptr) == 0;
}

bool MountTerminals(const char* target, unsigned owner, unsigned max) {
  char data[96];
  std::snprintf(data, sizeof(data),
                "uid=%u,gid=%u,mode=0600,ptmxmode=0600,max=%u", owner, owner,
                max);
  return ::mount("devpts", target, "devpts", MS_RDONLY | MS_NOSUID | MS_NOEXEC,
                 data) == 0;
}

bool BindMount(const char* source, const char* target) {
  return ::mount(source, target, nullptr, MS_BIND, nullptr) == 0;
}

bool DetachMount(const char* path) { return ::umount2(path, MNT_DETACH) == 0; }

bool MakeMountsPrivate() {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool MakeMountsSlave() {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
}

bool PivotRoot(const char* new_root, const char* put_old) {
  return ::syscall(SYS_pivot_root, new_root, put_old) == 0;
}

}  // namespace sandglass::os
