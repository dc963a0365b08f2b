// Attempts on files: what /proc and /sys tell and let change, the image, device
// nodes, setuid programs, and what of the host could be open or in reach.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/tier.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr size_t kPathsOfAWalk = 40;

class HostileFiles : public HostileTest,
                     public ::testing::WithParamInterface<Way> {
 protected:
  static Case OpenForWriting(const std::string& path, int error) {
    // Not every kernel has each.
    return {{"open", path, absl::StrCat(O_WRONLY)},
            Refused(error),
            Refused(ENOENT)};
  }
};

// Puts all names and inodes below it into the host's memory.
void ReadNames(const std::filesystem::path& place) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           place, std::filesystem::directory_options::skip_permission_denied,
           ignored)) {
    (void)entry.symlink_status(ignored);
  }
}

TEST_P(HostileFiles, ProcCannotBeWritten) {
  std::vector<Case> cases;
  for (const char* path : {"/proc/sys/kernel/core_pattern",
                           "/proc/sys/kernel/modprobe",
                           "/proc/sys/kernel/hostname",
                           "/proc/sys/kernel/randomize_va_space",
                           "/proc/sys/kernel/unprivileged_bpf_disabled",
                           "/proc/sys/fs/file-max",
                           "/proc/sys/fs/suid_dumpable",
                           "/proc/sys/kernel/yama/ptrace_scope",
                           "/proc/sys/net/ipv4/ip_forward",
                           "/proc/sys/vm/drop_caches",
                           "/proc/sys/vm/overcommit_memory",
                           "/proc/sys/user/max_user_namespaces",
                           "/proc/sys/kernel/ns_last_pid",
                           "/proc/self/uid_map",
                           "/proc/self/gid_map",
                           "/proc/self/setgroups",
                           "/proc/self/loginuid",
                           "/proc/self/oom_score_adj",
                           "/proc/self/oom_adj",
                           "/proc/self/timerslack_ns",
                           "/proc/self/coredump_filter",
                           "/proc/self/attr/current",
                           "/proc/self/attr/exec",
                           "/proc/self/clear_refs",
                           "/proc/self/comm",
                           "/proc/self/mem",
                           "/proc/parent/mem",
                           "/proc/parent/oom_score_adj",
                           "/proc/irq/default_smp_affinity"}) {
    cases.push_back(OpenForWriting(path, EROFS));
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileFiles, WhatProcTellsOfTheHostIsNotThere) {
  std::vector<Case> cases;
  for (const char* path :
       {"/proc/kcore",       "/proc/keys",          "/proc/key-users",
        "/proc/timer_list",  "/proc/sysrq-trigger", "/proc/kmsg",
        "/proc/kallsyms",    "/proc/kpagecount",    "/proc/kpageflags",
        "/proc/kpagecgroup", "/proc/vmallocinfo",   "/proc/slabinfo",
        "/proc/modules",     "/proc/iomem",         "/proc/ioports",
        "/proc/interrupts",  "/proc/cmdline",       "/proc/partitions",
        "/proc/diskstats",   "/proc/pagetypeinfo",  "/proc/config.gz",
        "/proc/sched_debug", "/proc/latency_stats", "/proc/schedstat",
        "/proc/zoneinfo",    "/proc/buddyinfo",     "/proc/locks",
        "/proc/swaps",       "/proc/consoles",      "/proc/crypto",
        "/proc/misc",        "/proc/devices",       "/proc/dma",
        "/proc/mtrr",        "/proc/execdomains",   "/proc/fb",
        "/proc/softirqs"}) {
    cases.push_back({{"read", path}, Refused(ENODATA), Refused(ENOENT)});
  }
  for (const char* path :
       {"/proc/acpi", "/proc/scsi", "/proc/bus", "/proc/fs", "/proc/irq",
        "/proc/tty", "/proc/asound", "/proc/driver", "/proc/pressure", "/root",
        "/boot", "/run", "/var/lib", "/mnt", "/media", "/srv", "/sys/class",
        "/sys/kernel", "/dev/mqueue"}) {
    cases.push_back({{"list", path}, Refused(ENODATA), Refused(ENOENT)});
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileFiles, InitIsOutOfReach) {
  std::vector<Case> cases;
  for (const char* name :
       {"mem",        "maps",      "environ",   "cmdline",
        "stat",       "status",    "cwd/usr",   "root/usr/bin/env",
        "exe",        "fd/0",      "fdinfo/0",  "ns/user",
        "task/1/mem", "map_files", "stack",     "syscall",
        "auxv",       "io",        "mountinfo", "cgroup"}) {
    cases.push_back(
        {{"read", absl::StrCat("/proc/1/", name)}, Refused(ENOENT)});
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileFiles, NothingOfTheImageCanBeWritten) {
  std::vector<Case> cases;
  for (const char* path :
       {"/new", "/usr/new", "/etc/new", "/usr/bin/new", "/usr/local/bin/new",
        "/var/cache/sandglass/new", "/dev/new"}) {
    cases.push_back({{"open", path, absl::StrCat(O_WRONLY | O_CREAT)},
                     Refused(EACCES),
                     Refused(EROFS)});
  }
  for (const char* path : {"/etc", "/opt", "/var", "/srv", "/dev"}) {
    cases.push_back({{"walk", path}, Refused(EROFS)});
  }
  // A hundred thousand files, on the same mounts for all ways; in parts, since
  // a run has half a minute, which a disk may need for what isn't in memory.
  // With every change only what is in the directories above is tried.
  if (GetParam() == Way::kExec && !OnlyAPart()) {
    Attempt part = {"walk"};
    for (const char* place : {"/usr", "/usr/lib", "/usr/share"}) {
      for (const auto& entry : std::filesystem::directory_iterator(place)) {
        if (entry.path() == "/usr/lib" || entry.path() == "/usr/share") {
          continue;
        }
        part.push_back(entry.path());
        ReadNames(entry.path());
        if (part.size() > kPathsOfAWalk) {
          EXPECT_EQ(neighbour().Ask(), "");
          cases.push_back({std::exchange(part, {"walk"}), Refused(EROFS)});
        }
      }
    }
    if (part.size() > 1) cases.push_back({part, Refused(EROFS)});
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileFiles, NoWayAroundReadOnlyChangesAFile) {
  std::vector<Case> cases;
  for (const char* path :
       {"/usr/bin/bash", "/usr/bin/python3", "/usr/bin/ruby", "/usr/bin/node",
        "/usr/lib/x86_64-linux-gnu/libc.so.6", "/etc/passwd",
        "/usr/share/common-licenses/GPL-3", "/usr/bin/su"}) {
    cases.push_back({{"overwrite", path}, Refused(EACCES), Refused(EROFS)});
  }
  // What the attack runs in itself: of the interpreter that made way for it, or
  // is its parent, no descriptor is left.
  for (const char* path : {"/proc/self/exe", "/proc/1/exe"}) {
    cases.push_back({{"open", path, absl::StrCat(O_WRONLY)},
                     Refused(ETXTBSY),
                     Refused(ENOENT)});
  }
  RunCases(GetParam(), cases);
}

TEST_P(HostileFiles, NoDescriptorOfOursIsOpen) {
  Attempt expected = {"descriptors", "0", "1", "2"};
  // Through it a runner can say that it is over.
  if (GetParam() == Way::kPython || GetParam() == Way::kRuby) {
    expected.push_back("254");
  }
  RunCases(GetParam(), {{expected, Refused(EBADF)}});
  RunCases(GetParam(), {{expected, Refused(EBADF)}}, {"--depth", "1"});
}

TEST_P(HostileFiles, DevicesCannotBeMadeOrFound) {
  std::vector<Case> cases;
  // memory, disk, loop, tun, fuse, kvm, hardware random, terminal
  for (const dev_t device :
       {makedev(1, 1), makedev(8, 0), makedev(7, 0), makedev(10, 200),
        makedev(10, 229), makedev(10, 232), makedev(10, 183), makedev(5, 0)}) {
    for (const int type : {S_IFCHR, S_IFBLK}) {
      cases.push_back({{"call", absl::StrCat(SYS_mknod), "s:/tmp/device",
                        absl::StrCat(type | 0666), absl::StrCat(device)},
                       Refused(EPERM)});
      cases.push_back({{"call", absl::StrCat(SYS_mknodat),
                        absl::StrCat(AT_FDCWD), "s:/dev/shm/device",
                        absl::StrCat(type | 0666), absl::StrCat(device)},
                       Refused(EPERM)});
    }
  }
  for (const char* path : {"/dev/mem",           "/dev/kmem",
                           "/dev/port",          "/dev/kmsg",
                           "/dev/sda",           "/dev/vda",
                           "/dev/loop0",         "/dev/loop-control",
                           "/dev/fuse",          "/dev/kvm",
                           "/dev/net/tun",       "/dev/ptmx",
                           "/dev/pts/0",         "/dev/tty0",
                           "/dev/console",       "/dev/userfaultfd",
                           "/dev/vhost-net",     "/dev/vsock",
                           "/dev/hwrng",         "/dev/rtc0",
                           "/dev/snd/timer",     "/dev/dri/card0",
                           "/dev/input/event0",  "/dev/uinput",
                           "/dev/btrfs-control", "/dev/mapper/control",
                           "/dev/autofs",        "/dev/cuse",
                           "/dev/bus/usb"}) {
    cases.push_back({{"open", path, absl::StrCat(O_RDWR)}, Refused(ENOENT)});
  }
  // Only init makes terminals, and nobody here has one.
  const std::string access = absl::StrCat(O_RDWR);
  cases.push_back({{"open", "/dev/pts/ptmx", access}, Refused(EACCES)});
  cases.push_back({{"open", "/dev/tty", access}, Refused(ENXIO)});
  RunCases(GetParam(), cases);
}

TEST_P(HostileFiles, SetuidProgramsAndFileCapabilitiesGiveNothing) {
  RunCases(GetParam(),
           {{{"setuid", "/usr/bin", "/usr/sbin", "/usr/lib"}, Refused(EPERM)},
            // security.capability of version 2 with all of them
            {{"call", absl::StrCat(SYS_setxattr), "s:hostile",
              "s:security.capability",
              "h:01000002ffffffffffffffffffffffffffffffff", "20", "0"},
             Refused(EPERM)},
            {{"call", absl::StrCat(SYS_setxattr), "s:hostile",
              "s:trusted.overlay.x", "s:x", "1", "0"},
             Refused(EPERM),
             Refused(EOPNOTSUPP)},
            {{"call", absl::StrCat(SYS_chown), "s:hostile", "0", "0"},
             Refused(EPERM),
             Refused(EINVAL)},
            {{"call", absl::StrCat(SYS_link), "s:/usr/bin/su", "s:own"},
             Refused(EXDEV)},
            {{"call", absl::StrCat(SYS_linkat), "path:/usr/bin/su", "s:",
              absl::StrCat(AT_FDCWD), "s:own", absl::StrCat(AT_EMPTY_PATH)},
             Refused(ENOENT),
             Refused(EXDEV)}});
}

TEST_P(HostileFiles, NoPathLeadsToTheBait) {
  std::vector<Case> cases;
  for (const char* above :
       {"", "/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../../..",
        "/..", "/tmp/../../..", "/dev/shm/../../..",
        "/proc/thread-self/root"}) {
    for (const char* name : {"/file", "/program", "/link"}) {
      for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR | O_CREAT, O_PATH}) {
        cases.push_back(
            {{"open", above + host().directory() + name, absl::StrCat(flags)},
             Refused(ENOENT)});
      }
    }
  }
  cases.push_back({{"list", host().directory()}, Refused(ENOENT)});
  RunCases(GetParam(), cases);
}

INSTANTIATE_TEST_SUITE_P(Ways, HostileFiles, ::testing::ValuesIn(kAllWays),
                         [](const auto& each) { return NameOf(each.param); });

}  // namespace
}  // namespace sandglass::testing
