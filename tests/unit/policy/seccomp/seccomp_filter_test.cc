// What the shipped policy's compiled filter answers, against its rules and
// against lists that are written down here a second time.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "policy/architecture/architecture.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {
namespace {

using Arguments = std::array<uint64_t, 6>;
using Rule = SeccompPolicy::Rule;

constexpr uint64_t kHighBits[] = {uint64_t{1} << 32, uint64_t{1} << 63,
                                  uint64_t{0xffffffff} << 32};

// The meaning of a rule, written without regard to how filters are made.
bool Holds(const SeccompPolicy::ArgumentTest& test,
           const Arguments& arguments) {
  const uint64_t argument = arguments[test.index] & test.mask;
  if (test.op == "==") return argument == test.value;
  if (test.op == "!=") return argument != test.value;
  if (test.op == "<") return argument < test.value;
  if (test.op == "<=") return argument <= test.value;
  if (test.op == ">") return argument > test.value;
  if (test.op == ">=") return argument >= test.value;
  ADD_FAILURE() << "unknown operator " << test.op;
  return false;
}

const Rule* FirstMatch(const std::vector<const Rule*>& rules,
                       const Arguments& arguments) {
  for (const Rule* rule : rules) {
    bool all = true;
    for (const auto& test : rule->tests) all = all && Holds(test, arguments);
    if (all) return rule;
  }
  return nullptr;
}

uint32_t Errno(int error) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
}

uint32_t Answer(const Rule& rule) {
  if (rule.error == SeccompPolicy::kIgnored) return Errno(0);
  return rule.error == 0 ? SECCOMP_RET_ALLOW : Errno(rule.error);
}

// The calls in `text`, which has spaces between their names; without those that
// x86-64 alone has.
std::map<std::string, int> Numbers(const std::string& text) {
  std::map<std::string, int> numbers;
  std::istringstream words(text);
  for (std::string name; words >> name;) {
    const int number =
        seccomp_syscall_resolve_name_arch(kArchitecture, name.c_str());
    if (number >= 0) numbers[name] = number;
    EXPECT_TRUE(number >= 0 || seccomp_syscall_resolve_name_arch(
                                   AUDIT_ARCH_X86_64, name.c_str()) >= 0)
        << name;
  }
  return numbers;
}

class ShippedFilterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto policy = SeccompPolicy::Load(SANDGLASS_SECCOMP_DATA, "default");
    ASSERT_TRUE(policy.ok()) << policy.status();
    policy_ = *std::move(policy);
    auto program = policy_.Compile();
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
    for (const Rule& rule : policy_.rules()) {
      calls_[rule.number].push_back(&rule);
    }
  }

  uint32_t Ask(int number, const Arguments& arguments = {},
               uint32_t architecture = kArchitecture) {
    uint64_t plain[6];
    for (size_t i = 0; i < 6; ++i) plain[i] = arguments[i];
    const auto answer = EvaluateFilter(program_, architecture, number, plain);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(SECCOMP_RET_KILL_PROCESS);
  }

  // Values of one argument on every side of each test of it.
  static std::set<uint64_t> Interesting(const std::vector<const Rule*>& rules,
                                        unsigned index) {
    std::set<uint64_t> values = {0};
    bool tested = false;
    for (const Rule* rule : rules) {
      for (const auto& test : rule->tests) {
        if (test.index != index) continue;
        tested = true;
        values.insert(
            {test.value, test.value + 1, test.value - 1, ~uint64_t{0}});
        if ((test.mask & (test.mask + 1)) == 0) continue;
        for (int bit = 0; bit < 64; ++bit) {  // a mask of single flags
          if ((test.mask >> bit & 1) != 0) values.insert(uint64_t{1} << bit);
        }
      }
    }
    if (!tested) return values;
    for (const uint64_t value : std::set<uint64_t>(values)) {
      for (const uint64_t high : kHighBits) values.insert(value | high);
    }
    return values;
  }

  SeccompPolicy policy_;
  BpfProgram program_;
  std::map<int, std::vector<const Rule*>> calls_;
};

TEST_F(ShippedFilterTest, TheFilterIsShort) {
  std::printf("filter: %zu instructions for %zu calls\n", program_.size(),
              calls_.size());
  EXPECT_LT(program_.size(), 1000u);
}

TEST_F(ShippedFilterTest, AnswersAsEachRuleSaysAndReachesEachRule) {
  std::set<const Rule*> reached;
  for (const auto& [number, rules] : calls_) {
    std::array<std::vector<uint64_t>, 6> values;
    for (unsigned i = 0; i < 6; ++i) {
      const std::set<uint64_t> found = Interesting(rules, i);
      values[i].assign(found.begin(), found.end());
    }
    // Every combination, by counting in mixed base.
    std::array<size_t, 6> digits = {};
    for (bool more = true; more;) {
      Arguments arguments;
      for (size_t i = 0; i < 6; ++i) arguments[i] = values[i][digits[i]];
      const Rule* rule = FirstMatch(rules, arguments);
      ASSERT_NE(rule, nullptr) << rules[0]->syscall;
      reached.insert(rule);
      ASSERT_EQ(Ask(number, arguments), Answer(*rule))
          << rule->syscall << std::hex << " " << arguments[0] << " "
          << arguments[1] << " " << arguments[2] << " " << arguments[3];
      size_t i = 0;
      while (i < 6 && ++digits[i] == values[i].size()) digits[i++] = 0;
      more = i < 6;
    }
  }
  for (const Rule& rule : policy_.rules()) {
    EXPECT_TRUE(reached.contains(&rule)) << rule.syscall << " in " << rule.set
                                         << ", never reached: " << rule.reason;
  }
}

// Every tested argument of the shipped rules is an int in the kernel, but two.
TEST_F(ShippedFilterTest, HighArgumentBitsChangeNoAnswer) {
  for (const auto& [number, rules] : calls_) {
    for (const Rule* rule : rules) {
      for (const auto& test : rule->tests) {
        if (number == __NR_prlimit64 && test.index > 1) continue;  // pointers
        EXPECT_EQ(test.mask >> 32, 0u) << rule->syscall;
        for (const uint64_t value : Interesting(rules, test.index)) {
          Arguments arguments = {};
          // The other tests of this rule hold, where equality can make them.
          for (const auto& t : rule->tests) arguments[t.index] = t.value;
          arguments[test.index] = value & 0xffffffff;
          const uint32_t plain = Ask(number, arguments);
          for (const uint64_t high : kHighBits) {
            arguments[test.index] = (value & 0xffffffff) | high;
            ASSERT_EQ(Ask(number, arguments), plain)
                << rule->syscall << " argument " << test.index;
          }
        }
      }
    }
  }
}

TEST_F(ShippedFilterTest, NumbersThatNoRuleNamesAreAbsent) {
  int absent = 0;
  for (int number = -2; number <= 600; ++number) {
    if (calls_.contains(number)) continue;
    EXPECT_EQ(Ask(number), Errno(ENOSYS)) << number;
    ++absent;
  }
  EXPECT_GT(absent, 200);
}

TEST_F(ShippedFilterTest, X32NumbersAreAbsent) {
  for (int number = 0; number <= 600; ++number) {
    EXPECT_EQ(Ask(number | 0x40000000), Errno(ENOSYS)) << number;
  }
  EXPECT_EQ(Ask(static_cast<int>(0x80000000)), Errno(ENOSYS));
  EXPECT_EQ(Ask(static_cast<int>(0xc0000000) | __NR_read), Errno(ENOSYS));
}

TEST_F(ShippedFilterTest, ForeignArchitecturesAreAbsent) {
  for (int number = 0; number <= 600; ++number) {
    for (const auto other : {uint32_t{AUDIT_ARCH_I386}, AUDIT_ARCH_X86_64,
                             uint32_t{AUDIT_ARCH_ARM}, AUDIT_ARCH_AARCH64}) {
      if (other == kArchitecture) continue;
      EXPECT_EQ(Ask(number, {}, other), Errno(ENOSYS)) << number;
    }
  }
  // i386's socketcall has the number of x86-64's getuid.
  EXPECT_EQ(Ask(__NR_getuid), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(102, {}, AUDIT_ARCH_I386), Errno(ENOSYS));
}

TEST_F(ShippedFilterTest, NeverKillsTracesOrNotifies) {
  for (const sock_filter& instruction : program_) {
    if (BPF_CLASS(instruction.code) != BPF_RET) continue;
    EXPECT_EQ(instruction.code, BPF_RET | BPF_K);
    const uint32_t action = instruction.k & SECCOMP_RET_ACTION_FULL;
    EXPECT_TRUE(action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_ERRNO)
        << std::hex << instruction.k;
  }
  // Errno 0 reports a call as done that was not.
  std::map<std::string, int> ignored;
  for (const auto& [number, rules] : calls_) {
    for (const Rule* rule : rules) {
      const bool skipped = rule->error == SeccompPolicy::kIgnored;
      if (skipped) ignored[rule->syscall] = number;
    }
  }
  EXPECT_EQ(ignored,
            Numbers("fadvise64 fdatasync fsync msync prlimit64 setrlimit"));
}

// The kernel notes per number that a filter always allows it, and then skips
// the filter; it follows loads of number and architecture, JA, JEQ, JGE, JGT,
// JSET and AND with constants only (seccomp_is_const_allow, kernel/seccomp.c).
TEST_F(ShippedFilterTest, CallsWithoutTestsStayCheap) {
  for (const auto& [number, rules] : calls_) {
    if (!rules[0]->tests.empty() || rules[0]->error != 0) continue;
    uint32_t accumulator = 0;
    int steps = 0;
    for (size_t at = 0;; ++at, ++steps) {
      const sock_filter& instruction = program_[at];
      if (instruction.code == (BPF_RET | BPF_K)) break;
      if (instruction.code == (BPF_LD | BPF_W | BPF_ABS)) {
        ASSERT_LE(instruction.k, offsetof(seccomp_data, arch)) << number;
        accumulator = instruction.k == offsetof(seccomp_data, nr)
                          ? static_cast<uint32_t>(number)
                          : kArchitecture;
      } else if (instruction.code == (BPF_JMP | BPF_JA)) {
        at += instruction.k;
      } else if (instruction.code == (BPF_JMP | BPF_JEQ | BPF_K)) {
        at += accumulator == instruction.k ? instruction.jt : instruction.jf;
      } else {
        ASSERT_EQ(instruction.code, BPF_JMP | BPF_JGE | BPF_K) << number;
        at += accumulator >= instruction.k ? instruction.jt : instruction.jf;
      }
    }
    EXPECT_LE(steps, 16) << rules[0]->syscall;
  }
}

TEST_F(ShippedFilterTest, OfAllSocketFamiliesFourAreThere) {
  for (uint64_t family = 0; family < 100; ++family) {
    const bool allowed = family == AF_UNIX || family == AF_INET ||
                         family == AF_INET6 || family == AF_NETLINK;
    for (const uint64_t high : {uint64_t{0}, kHighBits[0], kHighBits[2]}) {
      EXPECT_EQ(Ask(__NR_socket, {family | high, SOCK_STREAM, 0}),
                allowed ? SECCOMP_RET_ALLOW : Errno(EAFNOSUPPORT))
          << family;
      EXPECT_EQ(Ask(__NR_socketpair, {family | high, SOCK_STREAM, 0}),
                family == AF_UNIX ? SECCOMP_RET_ALLOW : Errno(EAFNOSUPPORT))
          << family;
    }
  }
}

TEST_F(ShippedFilterTest, OnlyPlainSocketTypesAndProtocolsAreAllowed) {
  constexpr uint64_t kModifiers = SOCK_CLOEXEC | SOCK_NONBLOCK;
  for (const uint64_t family : {AF_UNIX, AF_INET, AF_INET6}) {
    for (const uint64_t type : {SOCK_RAW, SOCK_PACKET}) {
      EXPECT_EQ(Ask(__NR_socket, {family, type}), Errno(EPERM));
      EXPECT_EQ(Ask(__NR_socket, {family, type | kModifiers, 6}), Errno(EPERM));
    }
    EXPECT_EQ(Ask(__NR_socket, {family, SOCK_DGRAM | kModifiers}),
              SECCOMP_RET_ALLOW);
  }
  EXPECT_EQ(Ask(__NR_socket, {AF_UNIX, SOCK_SEQPACKET}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_socketpair, {AF_UNIX, SOCK_SEQPACKET | kModifiers}),
            SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_socketpair, {AF_UNIX, SOCK_RAW | kModifiers}),
            Errno(EPERM));
  for (uint64_t protocol = 0; protocol < 300; ++protocol) {
    const bool allowed = protocol == 0 || protocol == 6 || protocol == 17;
    EXPECT_EQ(Ask(__NR_socket, {AF_INET6, SOCK_STREAM, protocol}),
              allowed ? SECCOMP_RET_ALLOW : Errno(EPROTONOSUPPORT))
        << protocol;
    EXPECT_EQ(Ask(__NR_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol}),
              protocol == 0 ? SECCOMP_RET_ALLOW : Errno(EPROTONOSUPPORT))
        << protocol;
  }
  EXPECT_EQ(Ask(__NR_socket, {AF_INET, SOCK_SEQPACKET}),
            Errno(ESOCKTNOSUPPORT));
  EXPECT_EQ(Ask(__NR_socket, {AF_INET, 6 /* SOCK_DCCP */}),
            Errno(ESOCKTNOSUPPORT));
}

TEST_F(ShippedFilterTest, OutOfBandDataIsRefused) {
  const std::map<int, unsigned> flags_at = {
      {__NR_sendto, 3},  {__NR_recvfrom, 3}, {__NR_sendmsg, 2},
      {__NR_recvmsg, 2}, {__NR_sendmmsg, 3}, {__NR_recvmmsg, 3}};
  for (const auto& [number, index] : flags_at) {
    Arguments arguments = {};
    for (const uint64_t other : {0, 0x4000 /* MSG_NOSIGNAL */, 0x40}) {
      arguments[index] = other;
      EXPECT_EQ(Ask(number, arguments), SECCOMP_RET_ALLOW);
      arguments[index] = other | MSG_OOB;
      EXPECT_EQ(Ask(number, arguments), Errno(EOPNOTSUPP));
    }
  }
}

TEST_F(ShippedFilterTest, NoCloneFlagMakesANamespace) {
  for (const uint64_t flag :
       {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
        CLONE_NEWPID, CLONE_NEWNET, CLONE_PARENT}) {
    EXPECT_EQ(Ask(__NR_clone, {flag | SIGCHLD}), Errno(EPERM)) << flag;
    EXPECT_EQ(Ask(__NR_clone, {flag | kHighBits[2]}), Errno(EPERM)) << flag;
  }
  EXPECT_EQ(Ask(__NR_clone, {SIGCHLD}), SECCOMP_RET_ALLOW);
  // What glibc passes for threads, and for posix_spawn.
  EXPECT_EQ(Ask(__NR_clone, {0x3d0f00}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}),
            SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_clone3), Errno(ENOSYS));
}

// Whose locks they are could no longer be told (sandbox/jail/lock_census.h).
TEST_F(ShippedFilterTest, LocksHaveAnOwner) {
  for (const uint64_t high : {uint64_t{0}, uint64_t{1} << 32}) {
    for (const uint64_t command : {F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW}) {
      EXPECT_EQ(Ask(__NR_fcntl, {3, command | high}), Errno(EINVAL));
    }
    EXPECT_EQ(Ask(__NR_clone, {CLONE_FILES | SIGCHLD | high}), Errno(EPERM));
    EXPECT_EQ(Ask(__NR_clone, {CLONE_FILES | CLONE_VM | SIGCHLD | high}),
              Errno(EPERM));
  }
  for (const uint64_t command : {F_GETLK, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC}) {
    EXPECT_EQ(Ask(__NR_fcntl, {3, command}), SECCOMP_RET_ALLOW);
  }
}

TEST_F(ShippedFilterTest, OnlyHarmlessNodesPersonalitiesAndProcessOptions) {
  for (const uint64_t type : {S_IFCHR, S_IFBLK, S_IFDIR, S_IFLNK}) {
    if (SYS_mknod >= 0) {
      EXPECT_EQ(Ask(SYS_mknod, {0, type | 0644}), Errno(EPERM));
    }
    EXPECT_EQ(Ask(__NR_mknodat, {0, 0, type | 0644 | kHighBits[1]}),
              Errno(EPERM));
  }
  for (const uint64_t type : {0, S_IFREG, S_IFIFO, S_IFSOCK}) {
    if (SYS_mknod >= 0) {
      EXPECT_EQ(Ask(SYS_mknod, {0, type | 0644}), SECCOMP_RET_ALLOW);
    }
    EXPECT_EQ(Ask(__NR_mknodat, {0, 0, type | 0644}), SECCOMP_RET_ALLOW);
  }
  EXPECT_EQ(Ask(__NR_personality, {0}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_personality, {0xffffffff}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_personality, {~uint64_t{0}}), SECCOMP_RET_ALLOW);
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_EQ(Ask(__NR_personality, {uint64_t{1} << bit}), Errno(EPERM));
  }
  EXPECT_EQ(Ask(__NR_prctl, {PR_SET_NAME}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_prctl, {PR_SET_SECCOMP}), Errno(EINVAL));
  EXPECT_EQ(Ask(__NR_prctl, {PR_SET_MM}), Errno(EPERM));
  EXPECT_EQ(Ask(__NR_prctl, {PR_SCHED_CORE}), Errno(EPERM));
  EXPECT_EQ(Ask(__NR_prctl, {67 /* PR_SET_MEMORY_MERGE */}), Errno(EINVAL));
  EXPECT_EQ(Ask(__NR_madvise, {0, 0, 12 /* MADV_MERGEABLE */}), Errno(EINVAL));
  EXPECT_EQ(Ask(__NR_madvise, {0, 0, 4 /* MADV_DONTNEED */}),
            SECCOMP_RET_ALLOW);
}

// Whatever the arguments. The names stand here again so that taking one out of
// the data fails a test.
TEST_F(ShippedFilterTest, DangerousCallsAreRefused) {
  const auto dangerous = Numbers(R"(
    unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount
    fspick move_mount open_tree mount_setattr keyctl add_key request_key bpf
    perf_event_open userfaultfd ptrace process_vm_readv kcmp
    process_vm_writev pidfd_getfd process_madvise open_by_handle_at
    name_to_handle_at kexec_load kexec_file_load init_module finit_module
    delete_module reboot swapon swapoff acct quotactl syslog settimeofday
    clock_settime adjtimex clock_adjtime iopl ioperm modify_ldt
    fanotify_init fanotify_mark lookup_dcookie memfd_secret vhangup)");
  for (const auto& [name, number] : dangerous) {
    for (const uint64_t value : {uint64_t{0}, ~uint64_t{0}}) {
      EXPECT_EQ(Ask(number, {value, value, value, value, value, value}),
                Errno(EPERM))
          << name;
    }
  }
  const auto absent =
      Numbers("io_uring_setup io_uring_enter io_uring_register clone3 seccomp");
  for (const auto& [name, number] : absent) {
    EXPECT_EQ(Ask(number), Errno(ENOSYS)) << name;
  }
}

// Files of the image are the host's: watching them reaches out of the jail.
TEST_F(ShippedFilterTest, FilesCannotBeWatched) {
  for (const int call :
       {SYS_inotify_init, __NR_inotify_init1, __NR_inotify_add_watch,
        __NR_inotify_rm_watch, __NR_fanotify_init, __NR_fanotify_mark}) {
    EXPECT_NE(Ask(call), SECCOMP_RET_ALLOW) << call;
  }
  constexpr uint64_t kNotify = 1026;  // F_NOTIFY
  EXPECT_EQ(Ask(__NR_fcntl, {3, kNotify}), Errno(EINVAL));
  // The kernel looks at 32 bits of it.
  EXPECT_EQ(Ask(__NR_fcntl, {3, kNotify | uint64_t{1} << 32}), Errno(EINVAL));
  EXPECT_EQ(Ask(__NR_fcntl, {3, 4}), SECCOMP_RET_ALLOW);  // F_SETFL
}

// The host's huge pages are counted by no limit of a jail's.
TEST_F(ShippedFilterTest, HugePagesCannotBeHad) {
  constexpr uint64_t kPrivate = 0x22;  // MAP_PRIVATE | MAP_ANONYMOUS
  for (const uint64_t high : {uint64_t{0}, uint64_t{1} << 32}) {
    EXPECT_EQ(Ask(__NR_mmap, {0, 4096, 3, kPrivate | 0x40000 | high}),
              Errno(EINVAL));
    EXPECT_EQ(Ask(__NR_memfd_create, {1, 5 | high}), Errno(EINVAL));
    EXPECT_EQ(Ask(__NR_shmget, {0, 4096, 0x800 | high}), Errno(EINVAL));
  }
  EXPECT_EQ(Ask(__NR_mmap, {0, 4096, 3, kPrivate}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_memfd_create, {1, 1}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(Ask(__NR_shmget, {0, 4096, 0x200}), SECCOMP_RET_ALLOW);
}

// A jail has no file on a disk, but the image's are.
TEST_F(ShippedFilterTest, TheHostsDiskAndItsCacheAreLeftAlone) {
  for (const uint64_t high : {uint64_t{0}, uint64_t{1} << 32}) {
    EXPECT_EQ(Ask(__NR_fsync, {3 | high}), Errno(0));
    EXPECT_EQ(Ask(__NR_fdatasync, {3 | high}), Errno(0));
    EXPECT_EQ(Ask(__NR_msync, {0, 4096, 4 | high}), Errno(0));
    EXPECT_EQ(Ask(__NR_msync, {0, 4096, 6 | high}), Errno(0));
    EXPECT_EQ(Ask(__NR_fadvise64, {3, 0, 0, 4 | high}), Errno(0));
  }
  EXPECT_EQ(Ask(__NR_fsync, {0xffffffff}), Errno(EBADF));  // -1
  EXPECT_EQ(Ask(__NR_fdatasync, {1 << 20}), Errno(EBADF));
  EXPECT_EQ(Ask(__NR_fsync, {(1 << 20) - 1}), Errno(0));
  EXPECT_EQ(Ask(__NR_msync, {0, 4096, 1}), SECCOMP_RET_ALLOW);  // MS_ASYNC
  EXPECT_EQ(Ask(__NR_fadvise64, {3, 0, 0, 2}),  // POSIX_FADV_SEQUENTIAL
            SECCOMP_RET_ALLOW);
}

// Of all runtimes and their programs; but for inotify, which they do without.
TEST_F(ShippedFilterTest, WhatRuntimesWereSeenToCallCanBeAllowed) {
  const auto seen = Numbers(R"(
    accept accept4 access arch_prctl bind brk capget chdir chmod
    clock_getres clock_gettime clock_nanosleep clone close close_range
    connect copy_file_range creat dup dup2 dup3 epoll_create1 epoll_ctl
    epoll_pwait epoll_wait eventfd2 execve exit exit_group faccessat2
    fadvise64 fallocate fchdir fchmod fchmodat fchown fcntl fdatasync flock
    fstat fstatfs ftruncate futex get_mempolicy getcwd getdents64 getegid
    geteuid getgid getgroups getpeername getpgid getpgrp getpid getppid
    getpriority getrandom getresuid getrlimit getrusage getsockname
    getsockopt gettid getuid getxattr ioctl kill lgetxattr link listen lseek madvise mkdir
    mkdirat mmap mprotect munmap nanosleep newfstatat openat pipe2
    pkey_alloc poll ppoll prctl pread64 prlimit64 pwrite64 read readlink
    readlinkat recvfrom recvmsg rename renameat2 restart_syscall rmdir rseq
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend sched_getaffinity
    sched_yield sendfile sendmmsg sendmsg sendto set_mempolicy
    set_robust_list set_tid_address setitimer setpgid setpriority setsid
    setsockopt shutdown sigaltstack socket socketpair statfs statx symlink
    symlinkat sysinfo tgkill timer_create timer_delete timer_settime times
    truncate umask uname unlink unlinkat utimensat vfork wait4 waitid write
    writev)");
  EXPECT_GT(seen.size(), 100u);
  for (const auto& [name, number] : seen) {
    bool allowed = false;
    for (const Rule* rule : calls_[number]) allowed |= rule->error <= 0;
    EXPECT_TRUE(allowed) << name;
  }
}

}  // namespace
}  // namespace sandglass::policy
