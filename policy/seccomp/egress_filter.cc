#include "policy/seccomp/egress_filter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/architecture/architecture.h"
#include "policy/seccomp/own_rules.h"
#include "policy/seccomp/seccomp_compile.h"

namespace sandglass::policy {
namespace {

using Rule = SeccompPolicy::Rule;
using Test = SeccompPolicy::ArgumentTest;

constexpr uint64_t kAll = ~uint64_t{0};
// The type in socket(2)'s second argument; the bits above are flags.
constexpr uint64_t kTypeBits = 0xf;

class Rules {
 public:
  void Allow(const std::vector<int>& calls, const std::string& reason) {
    for (const int call : calls) Add(call, 0, {}, reason);
  }
  // Allows the call if one of `allowed` holds; otherwise it fails with `error`.
  void AllowIf(int call, const std::vector<std::vector<Test>>& allowed,
               int error, const std::string& reason) {
    for (const std::vector<Test>& tests : allowed) Add(call, 0, tests, reason);
    Add(call, error, {}, reason);
  }
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  void Add(int call, int error, const std::vector<Test>& tests,
           const std::string& reason) {
    rules_.push_back({.syscall = "",
                      .number = call,
                      .error = error,
                      .tests = tests,
                      .reason = reason,
                      .set = "egress"});
  }

  std::vector<Rule> rules_;
};

void AddSockets(Rules& rules) {
  std::vector<std::vector<Test>> kinds;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      kinds.push_back(
          {ArgumentEquals(0, static_cast<uint64_t>(family)),
           ArgumentEquals(1, static_cast<uint64_t>(type), kTypeBits)});
    }
  }
  rules.AllowIf(SYS_socket, kinds, EAFNOSUPPORT,
                "TCP to servers, UDP and TCP to name servers");
  rules.Allow({SYS_connect, SYS_accept4, SYS_shutdown, SYS_getsockname,
               SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_sendto,
               SYS_recvfrom, SYS_sendmsg, SYS_recvmsg},
              "programs, servers, name servers and the daemon's channel; the "
              "sockets that are listened on come from jails");
  rules.Allow(
      {SYS_poll, SYS_ppoll, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait,
       SYS_epoll_pwait, SYS_eventfd2, SYS_pipe2, SYS_splice},
      "waiting, and tunnels' bytes");
}

void AddFiles(Rules& rules) {
  rules.AllowIf(
      SYS_openat,
      {{ArgumentEquals(2, O_RDONLY, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)}},
      EPERM, "configuration of name servers, certificates; never to write");
  rules.Allow({SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev,
               SYS_close, SYS_lseek, SYS_newfstatat, SYS_fstat, SYS_statx,
               SYS_access, SYS_faccessat, SYS_faccessat2, SYS_getdents64,
               SYS_readlink, SYS_readlinkat},
              "what is open, and whether files are there");
  std::vector<std::vector<Test>> commands;
  for (const int command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC,
                            F_SETPIPE_SZ, F_GETPIPE_SZ, F_GET_SEALS}) {
    commands.push_back({ArgumentEquals(1, static_cast<uint64_t>(command))});
  }
  rules.AllowIf(SYS_fcntl, commands, EPERM, "flags of descriptors");
}

void AddMemoryAndThreads(Rules& rules) {
  const std::vector<Test> no_code = {ArgumentEquals(2, 0, PROT_EXEC)};
  rules.AllowIf(SYS_mmap, {no_code}, EPERM, "memory, none of it code");
  rules.AllowIf(SYS_mprotect, {no_code}, EPERM, "the same");
  rules.Allow({SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk}, "memory");
  rules.AllowIf(SYS_clone, {{MakesThread()}}, EPERM, "threads, no processes");
  // glibc then asks clone(2), whose flags can be looked at.
  rules.AllowIf(SYS_clone3, {}, ENOSYS, "its flags are in memory");
  rules.Allow(
      {SYS_exit, SYS_exit_group, SYS_futex, SYS_set_robust_list, SYS_rseq,
       SYS_gettid, SYS_sched_yield, SYS_sched_getaffinity, SYS_getcpu},
      "threads");
  rules.Allow({SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
               SYS_sigaltstack, SYS_restart_syscall},
              "signals that the process gets");
  rules.AllowIf(SYS_tgkill, {{ArgumentEquals(2, SIGABRT)}}, EPERM,
                "abort(3), after which the kernel ends it");
}

void AddRest(Rules& rules) {
  rules.Allow({SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep,
               SYS_nanosleep, SYS_gettimeofday, SYS_time},
              "time, where the vDSO has none");
  rules.Allow({SYS_getrandom}, "keys, and numbers of DNS queries");
  rules.Allow(
      {SYS_getpid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname,
       SYS_sysinfo},
      "OpenSSL after a fork; the host's domain; how much memory sorting "
      "may take");
  rules.AllowIf(SYS_prlimit64, {{ArgumentEquals(2, 0, kAll)}}, EPERM,
                "threads' stacks; no limit is changed");
}

}  // namespace

absl::StatusOr<BpfProgram> MakeEgressFilter() {
  Rules rules;
  AddSockets(rules);
  AddFiles(rules);
  AddMemoryAndThreads(rules);
  AddRest(rules);
  return CompileRules(rules.rules());
}

}  // namespace sandglass::policy
