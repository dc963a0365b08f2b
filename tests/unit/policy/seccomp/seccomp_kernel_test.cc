// The kernel takes the compiled filter, and answers by it.

#include <asm/unistd.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "policy/seccomp/seccomp.h"
#include "tests/support/filters/install_filter.h"

namespace sandglass::policy {
namespace {

// errno of a raw call, 0 when it succeeded.
int ErrnoOf(long result) { return result == -1 ? errno : 0; }

#if defined(__x86_64__)
// getuid by the i386 gate: number 24 there; the result or -errno. 24 is
// sched_yield on x86-64, which is allowed. A kernel without i386 has no such
// gate: SIGSEGV.
void UseOldGate() {
  long result;
  asm volatile("int $0x80" : "=a"(result) : "a"(24L) : "memory");
  _exit(static_cast<int>(result) == -ENOSYS ? 0 : 1);
}
#else
// A program of 32-bit ARM, which ends with exit(1), and where that has no
// effect with a store to address 0: SIGSEGV. Nothing runs where the kernel or
// the processor has no 32-bit programs.
void UseOldGate() {
  constexpr uint32_t kBase = 0x10000;
  struct {
    Elf32_Ehdr header;
    Elf32_Phdr segment;
    uint32_t code[5];
  } program = {};
  program = {
      .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, 1},
                 .e_type = ET_EXEC,
                 .e_machine = EM_ARM,
                 .e_version = 1,
                 .e_entry = kBase + offsetof(decltype(program), code),
                 .e_phoff = offsetof(decltype(program), segment),
                 .e_flags = 0x05000000,  // EABI5
                 .e_ehsize = sizeof(Elf32_Ehdr),
                 .e_phentsize = sizeof(Elf32_Phdr),
                 .e_phnum = 1},
      .segment = {.p_type = PT_LOAD,
                  .p_vaddr = kBase,
                  .p_paddr = kBase,
                  .p_filesz = sizeof(program),
                  .p_memsz = sizeof(program),
                  .p_flags = PF_R | PF_X,
                  .p_align = kBase},
      // mov r0, #1; mov r7, #1; svc #0; mov r1, #0; str r0, [r1]
      .code = {0xe3a00001, 0xe3a07001, 0xef000000, 0xe3a01000, 0xe5810000}};
  const int file = memfd_create("arm", MFD_CLOEXEC);
  if (write(file, &program, sizeof(program)) != sizeof(program)) _exit(2);
  char* const none[] = {nullptr};
  fexecve(file, none, none);
  _exit(errno == ENOEXEC ? 0 : 3);
}
#endif

bool OldGateIsShut() {
  const pid_t child = fork();
  if (child == 0) UseOldGate();
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  return WIFEXITED(status) ? WEXITSTATUS(status) == 0
                           : WTERMSIG(status) == SIGSEGV;
}

// The limit of core files is set by nobody, whatever is said of it. 0 if so.
int CheckCoreLimit(const rlimit& before) {
  const rlimit none{};
  rlimit now{};
  // The kernel takes an int, and drops the bits above.
  constexpr long kCore = RLIMIT_CORE | (1L << 32);
  if (syscall(__NR_setrlimit, kCore, &none) != 0 ||
      syscall(__NR_prlimit64, 0, kCore, &none, nullptr) != 0) {
    return 26;
  }
  if (ErrnoOf(syscall(__NR_prlimit64, 0, kCore, &none, &now)) != EPERM) {
    return 27;
  }
  if (getrlimit(RLIMIT_CORE, &now) != 0 || now.rlim_max != before.rlim_max ||
      now.rlim_cur != before.rlim_cur) {
    return 28;
  }
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 29;
  files.rlim_cur /= 2;
  return setrlimit(RLIMIT_NOFILE, &files) == 0 ? 0 : 29;
}

// In the child: 0, or the number of the first check that failed.
int CheckAnswers(const BpfProgram& program) {
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) return 1;
  const int tcp = socket(AF_INET, SOCK_STREAM, 0);
  if (tcp < 0) return 2;
  // Neither of them 0, so that a change shows.
  const rlimit core_before{.rlim_cur = 1, .rlim_max = 1};
  if (setrlimit(RLIMIT_CORE, &core_before) != 0) return 4;
  if (!testing::InstallFilter(program)) return 3;

  if (ErrnoOf(unshare(CLONE_NEWUSER)) != EPERM) return 10;
  if (ErrnoOf(unshare(0)) != EPERM) return 11;
  if (ErrnoOf(socket(AF_VSOCK, SOCK_STREAM, 0)) != EAFNOSUPPORT) return 12;
  if (ErrnoOf(socket(AF_ALG, SOCK_SEQPACKET, 0)) != EAFNOSUPPORT) return 13;
  if (ErrnoOf(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1)) != EPERM) return 14;
  clone_args arguments = {.flags = 0, .exit_signal = SIGCHLD};
  if (ErrnoOf(syscall(__NR_clone3, &arguments, sizeof(arguments))) != ENOSYS) {
    return 15;
  }
  if (ErrnoOf(syscall(__NR_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)) !=
      EPERM) {
    return 16;
  }
  // Bits that the kernel drops from an int must not carry a family past.
  if (ErrnoOf(syscall(__NR_socket, (1L << 32) | AF_VSOCK, SOCK_STREAM, 0)) !=
      EAFNOSUPPORT) {
    return 17;
  }
  if (ErrnoOf(syscall(__NR_keyctl, KEYCTL_GET_KEYRING_ID, -1, 0)) != EPERM) {
    return 18;
  }
  if (ErrnoOf(syscall(__NR_getpid | 0x40000000)) != ENOSYS) return 19;
  if (!OldGateIsShut()) return 20;
  if (ErrnoOf(syscall(__NR_io_uring_setup, 1, nullptr)) != ENOSYS) return 21;
  if (ErrnoOf(setsockopt(tcp, IPPROTO_TCP, TCP_ULP, "tls", 3)) != EPERM) {
    return 22;
  }
  const char byte = 'x';
  if (ErrnoOf(ioctl(0, TIOCSTI, &byte)) != EPERM) return 23;
  if (ErrnoOf(syscall(600)) != ENOSYS) return 24;
  for (const unsigned long request :
       {SIOCGIFBR, SIOCSIFBR, SIOCBRADDBR, SIOCBRDELBR, SIOCADDDLCI,
        SIOCDELDLCI, SIOCGIFVLAN, SIOCSIFVLAN}) {
    if (ErrnoOf(ioctl(tcp, request, nullptr)) != EPERM) return 25;
  }
  if (const int wrong = CheckCoreLimit(core_before); wrong != 0) return wrong;

  // And what is allowed works.
  if (write(pipe_fds[1], &byte, 1) != 1) return 30;
  char read_back = 0;
  if (read(pipe_fds[0], &read_back, 1) != 1 || read_back != byte) return 31;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 32;
  if (ErrnoOf(send(pair[0], &byte, 1, MSG_OOB)) != EOPNOTSUPP) return 33;
  if (send(pair[0], &byte, 1, 0) != 1) return 34;
  if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0) return 35;
  ifconf interfaces = {};
  if (ioctl(tcp, SIOCGIFCONF, &interfaces) != 0) return 38;
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 36;
  return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 37;
}

TEST(SeccompKernelTest, AnswersInTheKernelAsInTheEvaluator) {
  const auto policy = SeccompPolicy::Load(SANDGLASS_SECCOMP_DATA, "default");
  ASSERT_TRUE(policy.ok()) << policy.status();
  const auto program = policy->Compile();
  ASSERT_TRUE(program.ok()) << program.status();

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(CheckAnswers(*program));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the check with that number failed";
}

}  // namespace
}  // namespace sandglass::policy
