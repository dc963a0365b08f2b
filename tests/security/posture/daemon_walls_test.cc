// What somebody who has taken over the daemon's process can do to the host: the
// test makes the daemon's own thread call the kernel.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

// A process whose main thread is held, and calls the kernel when it is told to.
// That thread waits in a system call, which ends with EINTR.
class Taken {
 public:
  explicit Taken(pid_t pid) : pid_(pid) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    EXPECT_EQ(ptrace(PTRACE_SEIZE, pid_, 0, 0), 0) << strerror(errno);
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    EXPECT_EQ(ptrace(PTRACE_INTERRUPT, pid_, 0, 0), 0) << strerror(errno);
    Await();
    EXPECT_EQ(ptrace(PTRACE_GETREGS, pid_, 0, &before_), 0);
    // Behind the instruction that made the call it waits in.
    const long word = ptrace(PTRACE_PEEKTEXT, pid_, before_.rip - 2, 0);
    EXPECT_EQ(word & 0xffff, 0x050f) << "it doesn't wait in a system call";
  }
  ~Taken() {
    user_regs_struct after = before_;
    after.rax = static_cast<uint64_t>(-EINTR);
    after.orig_rax = static_cast<uint64_t>(-1);
    EXPECT_EQ(ptrace(PTRACE_SETREGS, pid_, 0, &after), 0);
    EXPECT_EQ(ptrace(PTRACE_DETACH, pid_, 0, 0), 0);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  // What the call returns: a number, or an errno, negative. `path` is what one
  // of the arguments, kPath, points to.
  static constexpr uint64_t kPath = ~uint64_t{0} - 1;
  int64_t Call(int number, std::vector<uint64_t> arguments,
               const std::string& path = "") {
    // Below the part of the stack that the thread may use.
    const uint64_t at = (before_.rsp - 8192) & ~uint64_t{15};
    std::string text = path + '\0';
    text.resize((text.size() + 7) / 8 * 8);
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      memcpy(&word, text.data() + i, 8);
      EXPECT_EQ(ptrace(PTRACE_POKEDATA, pid_, at + i, word), 0);
    }
    arguments.resize(6);
    std::replace(arguments.begin(), arguments.end(), kPath, at);
    user_regs_struct call = before_;
    call.rip = before_.rip - 2;
    call.rax = static_cast<uint64_t>(number);
    call.orig_rax = static_cast<uint64_t>(-1);
    call.rdi = arguments[0];
    call.rsi = arguments[1];
    call.rdx = arguments[2];
    call.r10 = arguments[3];
    call.r8 = arguments[4];
    call.r9 = arguments[5];
    EXPECT_EQ(ptrace(PTRACE_SETREGS, pid_, 0, &call), 0);
    EXPECT_EQ(ptrace(PTRACE_SINGLESTEP, pid_, 0, 0), 0);
    Await();
    user_regs_struct done{};
    EXPECT_EQ(ptrace(PTRACE_GETREGS, pid_, 0, &done), 0);
    return static_cast<int64_t>(done.rax);
  }
  int64_t Open(const std::string& path, int flags) {
    const int64_t fd = Call(SYS_openat,
                            {static_cast<uint64_t>(AT_FDCWD), kPath,
                             static_cast<uint64_t>(flags | O_CLOEXEC), 0600},
                            path);
    if (fd < 0) return fd;
    Call(SYS_close, {static_cast<uint64_t>(fd)});
    return 0;
  }

 private:
  void Await() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, __WALL), pid_);
    EXPECT_TRUE(WIFSTOPPED(status)) << status;
  }

  const pid_t pid_;
  user_regs_struct before_{};
};

class DaemonWalls : public OwnDaemonTest {};

TEST_F(DaemonWalls, WhoTakesTheDaemonOverWritesToItsOwnPlacesOnly) {
  const std::string place = MakeTestDirectory();
  const std::string others = place + "/open-to-all";
  fs::create_directory(others);
  chmod(others.c_str(), 0777);
  std::ofstream(others + "/file") << "text";
  chmod((others + "/file").c_str(), 0666);
  ASSERT_NO_FATAL_FAILURE(StartDaemon(
      {.config = absl::StrCat(R"({"audit": {"dir": ")", place, R"(/audit"}, )",
                              R"("sessions": {"durable_dir": ")", place,
                              R"(/sessions"}})")}));
  const std::map<std::string, std::string> status = StatusOf(daemon().pid());
  EXPECT_EQ(status.at("NoNewPrivs"), "1");
  for (const auto& task : fs::directory_iterator(
           absl::StrCat("/proc/", daemon().pid(), "/task"))) {
    EXPECT_EQ(StatusOf(std::stoi(task.path().filename())).at("Seccomp"), "2")
        << task.path();
  }
  {
    Taken daemons(daemon().pid());
    const int64_t denied = -EACCES;
    EXPECT_EQ(daemons.Call(SYS_getpid, {}), daemon().pid());
    // Files that everybody may write to.
    EXPECT_EQ(daemons.Open(others + "/file", O_RDONLY), 0);
    EXPECT_EQ(daemons.Open(others + "/file", O_WRONLY), denied);
    EXPECT_EQ(daemons.Open(others + "/new", O_WRONLY | O_CREAT), denied);
    EXPECT_EQ(daemons.Open("/tmp", O_WRONLY | O_TMPFILE), denied);
    EXPECT_EQ(daemons.Open("/dev/shm", O_WRONLY | O_TMPFILE), denied);
    EXPECT_EQ(daemons.Call(SYS_unlink, {Taken::kPath}, others + "/file"),
              denied);
    // Its work.
    EXPECT_EQ(daemons.Open(place + "/audit", O_WRONLY | O_TMPFILE), 0);
    EXPECT_EQ(daemons.Open(place + "/sessions", O_WRONLY | O_TMPFILE), 0);
    // Programs, processes, namespaces and what else the kernel has.
    EXPECT_EQ(daemons.Call(SYS_execve, {Taken::kPath, 0, 0}, "/bin/true"),
              -EPERM);
    EXPECT_EQ(daemons.Call(SYS_fork, {}), -EPERM);
    EXPECT_EQ(daemons.Call(SYS_clone, {SIGCHLD}), -EPERM);
    EXPECT_EQ(daemons.Call(SYS_unshare, {CLONE_NEWUSER}), -EPERM);
    EXPECT_EQ(daemons.Call(SYS_ptrace,
                           {PTRACE_SEIZE, static_cast<uint64_t>(getpid())}),
              -EPERM);
    EXPECT_EQ(daemons.Call(SYS_bpf, {}), -EPERM);
    EXPECT_EQ(daemons.Call(SYS_io_uring_setup, {1}), -EPERM);
    EXPECT_EQ(daemons.Call(SYS_socket, {AF_PACKET, SOCK_RAW}), -EAFNOSUPPORT);
  }
  // It serves as before.
  EXPECT_THAT(client().Run(Bash("echo on")), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
  fs::remove_all(place);
}

}  // namespace
}  // namespace sandglass::testing
