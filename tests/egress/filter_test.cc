// The proxy's system calls: what it may ask of the kernel, and what not.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "gtest/gtest.h"
#include "policy/architecture/architecture.h"
#include "policy/seccomp/egress_filter.h"

namespace sandglass::policy {
namespace {

constexpr uint32_t kAllowed = SECCOMP_RET_ALLOW;
constexpr uint64_t kHigh = uint64_t{1} << 32;

uint32_t Refused(int error) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
}

uint32_t Answer(int call, uint64_t first = 0, uint64_t second = 0,
                uint64_t third = 0) {
  static const absl::StatusOr<BpfProgram> filter = MakeEgressFilter();
  EXPECT_TRUE(filter.ok()) << filter.status();
  const uint64_t arguments[6] = {first, second, third, 0, 0, 0};
  const absl::StatusOr<uint32_t> action =
      EvaluateFilter(*filter, kArchitecture, call, arguments);
  EXPECT_TRUE(action.ok()) << action.status();
  return *action;
}

TEST(EgressFilter, NoProgramsNoProcessesNoNamespaces) {
  for (const int call :
       {SYS_execve, SYS_execveat, SYS_fork, SYS_vfork, SYS_clone3, SYS_unshare,
        SYS_setns, SYS_ptrace, SYS_kill, SYS_tkill, SYS_pidfd_open, SYS_setuid,
        SYS_mount, SYS_bpf, SYS_io_uring_setup, SYS_keyctl, SYS_userfaultfd,
        SYS_process_vm_readv}) {
    EXPECT_EQ(Answer(call), Refused(ENOSYS)) << call;
  }
  constexpr uint64_t kPthread =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
      CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  EXPECT_EQ(Answer(SYS_clone, kPthread), kAllowed);
  EXPECT_EQ(Answer(SYS_clone, SIGCHLD), Refused(EPERM));
  EXPECT_EQ(Answer(SYS_clone, kPthread | CLONE_NEWNET), Refused(EPERM));
  EXPECT_EQ(Answer(SYS_clone, kPthread | CLONE_NEWUSER), Refused(EPERM));
}

TEST(EgressFilter, SocketsAreOfTcpAndUdpAndListenNowhere) {
  EXPECT_EQ(Answer(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC), kAllowed);
  EXPECT_EQ(Answer(SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK), kAllowed);
  for (const int family : {AF_UNIX, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG}) {
    EXPECT_EQ(Answer(SYS_socket, static_cast<uint64_t>(family), SOCK_STREAM),
              Refused(EAFNOSUPPORT));
  }
  EXPECT_EQ(Answer(SYS_socket, AF_INET, SOCK_RAW), Refused(EAFNOSUPPORT));
  // Bits that the kernel doesn't look at change nothing.
  EXPECT_EQ(Answer(SYS_socket, kHigh | AF_PACKET, SOCK_STREAM),
            Refused(EAFNOSUPPORT));
  EXPECT_EQ(Answer(SYS_socket, kHigh | AF_INET, SOCK_STREAM), kAllowed);
  EXPECT_EQ(Answer(SYS_bind), Refused(ENOSYS));
  EXPECT_EQ(Answer(SYS_listen), Refused(ENOSYS));
}

TEST(EgressFilter, FilesAreOpenedForReadingOnly) {
  EXPECT_EQ(Answer(SYS_openat, 0, 0, O_RDONLY | O_CLOEXEC), kAllowed);
  for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT,
                          O_RDONLY | O_TRUNC, O_TMPFILE | O_RDWR}) {
    EXPECT_EQ(Answer(SYS_openat, 0, 0, static_cast<uint64_t>(flags)),
              Refused(EPERM));
  }
  for (const int call : {SYS_open, SYS_creat, SYS_openat2, SYS_unlink,
                         SYS_unlinkat, SYS_renameat2, SYS_mkdirat, SYS_linkat,
                         SYS_symlinkat, SYS_fchmodat, SYS_ioctl}) {
    EXPECT_EQ(Answer(call), Refused(ENOSYS)) << call;
  }
}

TEST(EgressFilter, MemoryCannotBecomeExecutable) {
  for (const int call : {SYS_mmap, SYS_mprotect}) {
    EXPECT_EQ(Answer(call, 0, 4096, PROT_READ | PROT_WRITE), kAllowed);
    EXPECT_EQ(Answer(call, 0, 4096, PROT_READ | PROT_EXEC), Refused(EPERM));
  }
  EXPECT_EQ(Answer(SYS_pkey_mprotect), Refused(ENOSYS));
  EXPECT_EQ(Answer(SYS_memfd_create), Refused(ENOSYS));
}

}  // namespace
}  // namespace sandglass::policy
