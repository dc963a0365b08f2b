#include "bench/shared_root.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/status.h"

namespace sandglass::bench {
namespace {

constexpr uint64_t kRootBytes = 1 << 20;
// What crun writes there, thinking that it is a tree of groups.
constexpr uint64_t kHiddenBytes = 1 << 20;
constexpr uint64_t kScratchBytes = 1024 << 20;

absl::Status MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) {
    return os::ErrnoStatus("mkdir ", path);
  }
  return absl::OkStatus();
}

absl::Status MakeTmpfs(const std::string& path, uint64_t bytes) {
  if (absl::Status status = MakeDirectory(path); !status.ok()) return status;
  if (!os::MountTmpfs(path.c_str(),
                      {.bytes = bytes, .inodes = 65536, .mode = 0755})) {
    return os::ErrnoStatus("mount tmpfs on ", path);
  }
  return absl::OkStatus();
}

absl::Status FillRoot(const std::string& root) {
  for (const char* name :
       {"usr", "etc", "dev", "proc", "sys", "tmp", "home", "program"}) {
    if (absl::Status status = MakeDirectory(absl::StrCat(root, "/", name));
        !status.ok()) {
      return status;
    }
  }
  for (const char* name : {"bin", "sbin", "lib", "lib64"}) {
    const std::string path = absl::StrCat(root, "/", name);
    if (::symlink(absl::StrCat("usr/", name).c_str(), path.c_str()) != 0) {
      return os::ErrnoStatus("symlink ", path);
    }
  }
  for (const char* name : {"/usr", "/etc"}) {
    const std::string path = root + name;
    if (!os::BindWith(
            name, path.c_str(),
            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)) {
      return os::ErrnoStatus("bind ", name, " at ", path);
    }
  }
  return absl::OkStatus();
}

struct CgroupMounts {
  bool has_v1 = false;
  std::vector<std::string> v2;
};

// proc_pid_mountinfo(5): the fifth field is the mount point, and the file
// system's type follows a lone "-".
CgroupMounts FindCgroupMounts() {
  CgroupMounts mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::pair<std::string, std::string> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<std::string> fields = absl::StrSplit(halves.first, ' ');
    const std::vector<std::string> rest = absl::StrSplit(halves.second, ' ');
    if (fields.size() < 5) continue;
    if (rest[0] == "cgroup") mounts.has_v1 = true;
    if (rest[0] == "cgroup2") mounts.v2.push_back(fields[4]);
  }
  return mounts;
}

// crun refuses to work beside a v2 tree that owns controllers while others are
// on v1, so in a hybrid layout the contenders see the v1 trees only.
absl::StatusOr<std::string> ArrangeCgroups() {
  const CgroupMounts mounts = FindCgroupMounts();
  if (!mounts.has_v1) return mounts.v2.empty() ? "none" : "v2";
  if (mounts.v2.empty()) return "v1";
  for (const std::string& path : mounts.v2) {
    if (!os::MountTmpfs(path.c_str(),
                        {.bytes = kHiddenBytes, .inodes = 4096})) {
      return os::ErrnoStatus("mount tmpfs on ", path);
    }
  }
  return absl::StrCat("hybrid (v2 at ", absl::StrJoin(mounts.v2, ", "),
                      " hidden from crun and runc)");
}

}  // namespace

absl::StatusOr<SharedRoot> BuildSharedRoot(const std::string& directory) {
  if (::unshare(CLONE_NEWNS) != 0) {
    return os::ErrnoStatus("make a mount namespace");
  }
  // ORDER: before any mount, else the host would see it.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return os::ErrnoStatus("make all mounts private");
  }
  SharedRoot root;
  root.rootfs = directory + "/rootfs";
  root.scratch = directory + "/scratch";
  if (absl::Status status = MakeTmpfs(root.rootfs, kRootBytes); !status.ok()) {
    return status;
  }
  if (absl::Status status = FillRoot(root.rootfs); !status.ok()) return status;
  if (absl::Status status = MakeTmpfs(root.scratch, kScratchBytes);
      !status.ok()) {
    return status;
  }
  root.home = root.scratch + "/home";
  if (absl::Status status = MakeDirectory(root.home); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::string> layout = ArrangeCgroups();
  if (!layout.ok()) return layout.status();
  root.cgroup_layout = *std::move(layout);
  return root;
}

}  // namespace sandglass::bench
