// What the daemon's process can't do any more once it serves.
#include "server/daemon/own_walls.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "policy/architecture/architecture.h"
#include "policy/seccomp/server_filter.h"
#include "sandbox/os/landlock.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

uint32_t Answer(int call, uint64_t first = 0) {
  static const absl::StatusOr<policy::BpfProgram> filter =
      policy::MakeServerFilter();
  EXPECT_TRUE(filter.ok()) << filter.status();
  const uint64_t arguments[6] = {first, 0, 0, 0, 0, 0};
  const absl::StatusOr<uint32_t> action =
      policy::EvaluateFilter(*filter, policy::kArchitecture, call, arguments);
  EXPECT_TRUE(action.ok()) << action.status();
  return *action;
}

uint32_t Refused(int error) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
}

TEST(ServerFilter, RefusesWhatAServerHasNoNeedOf) {
  for (const int call : {SYS_execve,      SYS_execveat,
                         SYS_fork,        SYS_vfork,
                         SYS_ptrace,      SYS_process_vm_writev,
                         SYS_pidfd_getfd, SYS_mount,
                         SYS_move_mount,  SYS_unshare,
                         SYS_setns,       SYS_setuid,
                         SYS_capset,      SYS_bpf,
                         SYS_keyctl,      SYS_io_uring_setup,
                         SYS_userfaultfd, SYS_perf_event_open,
                         SYS_init_module, SYS_open_by_handle_at,
                         SYS_mknodat,     SYS_shmget}) {
    if (call < 0) continue;  // arm64 has none of that name
    EXPECT_EQ(Answer(call), Refused(EPERM)) << call;
  }
  // Unknown to it, and so whatever a later kernel has.
  EXPECT_EQ(Answer(1000), Refused(ENOSYS));
  EXPECT_EQ(Answer(SYS_clone3), Refused(ENOSYS));
  constexpr uint64_t kPthread =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
      CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  EXPECT_EQ(Answer(SYS_clone, kPthread), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Answer(SYS_clone, SIGCHLD), Refused(EPERM));
  EXPECT_EQ(Answer(SYS_clone, kPthread | CLONE_NEWUSER), Refused(EPERM));
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
    EXPECT_EQ(Answer(SYS_socket, static_cast<uint64_t>(family)),
              SECCOMP_RET_ALLOW);
  }
  for (const int family : {AF_PACKET, AF_ALG, AF_VSOCK, AF_KEY}) {
    EXPECT_EQ(Answer(SYS_socket, static_cast<uint64_t>(family)),
              Refused(EAFNOSUPPORT));
  }
  for (const int call : {SYS_openat, SYS_accept4, SYS_sendmsg, SYS_futex,
                         SYS_pidfd_send_signal, SYS_sendfile, SYS_mmap}) {
    EXPECT_EQ(Answer(call), SECCOMP_RET_ALLOW) << call;
  }
}

// Errno of a call in a process behind the walls, on a thread made there.
int Behind(const std::vector<std::string>& directories,
           const std::function<bool()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    absl::StatusOr<OwnWalls> walls = OwnWalls::Prepare(directories);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !walls.ok() ||
        !walls->Raise().ok()) {
      ::_exit(255);
    }
    int error = 0;
    std::thread([&] { error = call() ? 0 : errno; }).join();
    ::_exit(error);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

bool Opens(const std::string& path, int flags) {
  return ::open(path.c_str(), flags | O_CLOEXEC, 0600) >= 0;
}

TEST(OwnWalls, FilesAreWrittenInItsOwnDirectoriesOnly) {
  if (os::LandlockAbi() < 2) GTEST_SKIP() << "the kernel is too old";
  TempDir own, other;
  std::ofstream(other.path() + "/audit") << "line";
  std::ofstream(own.path() + "/mine") << "line";
  const std::vector<std::string> places = {own.path(), own.path() + "/none"};
  const auto behind = [&](const std::function<bool()>& call) {
    return Behind(places, call);
  };
  EXPECT_EQ(
      behind([&] { return Opens(own.path() + "/new", O_WRONLY | O_CREAT); }),
      0);
  EXPECT_EQ(behind([&] { return Opens(own.path(), O_WRONLY | O_TMPFILE); }), 0);
  EXPECT_EQ(
      behind([&] { return ::unlink((own.path() + "/mine").c_str()) == 0; }), 0);
  EXPECT_EQ(behind([&] { return Opens("/dev/null", O_RDWR); }), 0);
  EXPECT_EQ(behind([&] { return Opens(other.path() + "/audit", O_RDONLY); }),
            0);
  EXPECT_EQ(behind([&] { return Opens(other.path() + "/audit", O_WRONLY); }),
            EACCES);
  EXPECT_EQ(
      behind([&] { return Opens(other.path() + "/new", O_WRONLY | O_CREAT); }),
      EACCES);
  EXPECT_EQ(behind([&] {
              return ::truncate((other.path() + "/audit").c_str(), 0) == 0;
            }),
            EACCES);
  EXPECT_EQ(
      behind([&] { return ::unlink((other.path() + "/audit").c_str()) == 0; }),
      EACCES);
  EXPECT_EQ(
      behind([&] { return ::mkdir((other.path() + "/d").c_str(), 0700) == 0; }),
      EACCES);
  EXPECT_EQ(behind([&] {
              return ::rename((other.path() + "/audit").c_str(),
                              (own.path() + "/taken").c_str()) == 0;
            }),
            EACCES);
}

// As after the rights are gone: the way to the directories is closed by then.
TEST(OwnWalls, DirectoriesMayLieWhereOnlyRootGetsTo) {
  if (os::LandlockAbi() < 2) GTEST_SKIP() << "the kernel is too old";
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  TempDir closed;
  const std::string own = closed.path() + "/own";
  ASSERT_EQ(::mkdir(own.c_str(), 0700), 0);
  ASSERT_EQ(::chown(own.c_str(), 65534, 65534), 0);
  const os::Fd directory(
      ::open(own.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(directory.valid());
  absl::StatusOr<OwnWalls> walls = OwnWalls::Prepare({own});
  ASSERT_TRUE(walls.ok()) << walls.status();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool made = ::setresgid(65534, 65534, 65534) == 0 &&
                      ::setresuid(65534, 65534, 65534) == 0 &&
                      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                      walls->Raise().ok() &&
                      ::openat(directory.get(), "new",
                               O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
    ::_exit(made ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OwnWalls, NoProgramIsStartedAndNoSuchSocketMade) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime doesn't go with the filter";
#endif
  EXPECT_EQ(Behind({},
                   [] {
                     char name[] = "true";
                     char* argv[] = {name, nullptr};
                     ::execv("/bin/true", argv);
                     return false;
                   }),
            EPERM);
  EXPECT_EQ(Behind({}, [] { return ::fork() >= 0; }), EPERM);
  EXPECT_EQ(Behind({}, [] { return ::unshare(CLONE_NEWUSER) == 0; }), EPERM);
  EXPECT_EQ(Behind({}, [] { return ::socket(AF_PACKET, SOCK_RAW, 0) >= 0; }),
            EAFNOSUPPORT);
  EXPECT_EQ(Behind({}, [] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }),
            0);
}

}  // namespace
}  // namespace sandglass::server
