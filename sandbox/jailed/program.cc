#include "sandbox/jailed/program.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "sandbox/jailed/layout.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"

namespace sandglass::sandbox {
namespace {

bool Lower(int resource, uint64_t value) {
  struct rlimit limit = {};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
    return false;
  }
  // Raising the hard limit would need CAP_SYS_RESOURCE on the host.
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0;
}

bool SetRlimits(const internal::StartProgram& request) {
  struct rlimit cpu = {};
  // SIGXCPU at the soft limit, SIGKILL a second later; the daemon's own check
  // comes first, this stands in should it be late.
  cpu.rlim_cur = request.cpu_seconds() + 1;
  cpu.rlim_max = request.cpu_seconds() + 2;
  constexpr uint64_t kStack = 8u << 20;
  return ::setrlimit(RLIMIT_CPU, &cpu) == 0 && Lower(RLIMIT_CORE, 0) &&
         Lower(RLIMIT_NOFILE, request.open_files()) &&
         Lower(RLIMIT_FSIZE, request.file_size_bytes()) &&
         // Pinned memory, queued signals and message queues are charged to the
         // uid, not to the group.
         Lower(RLIMIT_MEMLOCK, 64u << 10) && Lower(RLIMIT_SIGPENDING, 1024) &&
         Lower(RLIMIT_MSGQUEUE, 819200) && Lower(RLIMIT_STACK, kStack) &&
         Lower(RLIMIT_NICE, 0) && Lower(RLIMIT_RTPRIO, 0);
}

bool SetStdio(const JailFds& fds, bool with_stdin) {
  // Not init's own /dev/null: the flags of an open file are common to all who
  // have it.
  const os::Fd null(with_stdin ? -1 : ::open("/dev/null", O_RDONLY));
  const int input = with_stdin ? fds.stdin_pipe.program.get() : null.get();
  if (::dup2(input, 0) < 0) return false;
  return ::dup2(fds.stdout_pipe.program.get(), 1) >= 0 &&
         ::dup2(fds.stderr_pipe.program.get(), 2) >= 0 &&
         ::chdir(kWorkspace) == 0;
}

bool DropProgramRights() {
  return ::setgroups(0, nullptr) == 0 &&
         ::setresgid(kCodeUid, kCodeUid, kCodeUid) == 0 &&
         ::setresuid(kCodeUid, kCodeUid, kCodeUid) == 0 &&
         os::SetCapabilities(0) && os::SetNoNewPrivs();
}

void ResetSignals() {
  // Handlers are reset by exec; ignored signals and the mask are not.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  os::ChangeSignalMask(SIG_SETMASK, none);
}

// Runs in the child; returns only when a step failed, with errno.
void BecomeProgram(const JailPlan& plan, const JailFds& fds,
                   absl::Span<const sock_filter> filter,
                   const internal::StartProgram& request, char* const* argv,
                   char* const* envp, StartReport& report) {
  // ORDER: what needs a right comes before the rights go; Landlock before
  // seccomp, which doesn't let its calls through; descriptors last, since the
  // ruleset is one.
  report.clock.Begin(SetupStep::kSetRlimits);
  if (!SetRlimits(request)) return;
  report.clock.Begin(SetupStep::kSetStdio);
  if (!SetStdio(fds, request.with_stdin()) || ::setsid() < 0) return;
  ::umask(022);
  report.clock.Begin(SetupStep::kDropProgramRights);
  if (!DropProgramRights()) return;
  report.clock.Begin(SetupStep::kLandlock);
  if (plan.landlock_abi > 0 &&
      !os::LandlockRestrictSelf(fds.landlock_ruleset)) {
    return;
  }
  report.clock.Begin(SetupStep::kCloseProgramFds);
  if (!os::CloseFrom(3)) return;
  ResetSignals();
  report.clock.Begin(SetupStep::kSeccomp);
  if (!os::InstallSeccompFilter(filter)) return;
  report.clock.Begin(SetupStep::kExec);
  report.exec_monotonic_ns = os::MonotonicNanos();
  ::execve(argv[0], argv, envp);
}

std::vector<char*> Pointers(
    const google::protobuf::RepeatedPtrField<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(static_cast<size_t>(strings.size()) + 1);
  for (const std::string& text : strings) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

pid_t StartProgramProcess(const JailPlan& plan, const JailFds& fds,
                          absl::Span<const sock_filter> filter,
                          const internal::StartProgram& request,
                          StartReport& report) {
  const std::vector<char*> argv = Pointers(request.argv());
  const std::vector<char*> envp = Pointers(request.env());
  report.clock.Begin(SetupStep::kCloneProgram);
  if (argv.size() < 2) {
    report.error = EINVAL;
    return -1;
  }
  // Vfork: init sleeps until the exec, so when this returns the report is
  // final. Not CLONE_VM: the child changes ids and must not share init's
  // memory.
  const pid_t pid =
      os::Clone3({.flags = os::kVfork, .cgroup_fd = plan.run_cgroup});
  if (pid == 0) {
    BecomeProgram(plan, fds, filter, request, argv.data(), envp.data(), report);
    report.error = errno;
    ::_exit(127);
  }
  if (pid < 0) report.error = errno;
  return report.error == 0 ? pid : -1;
}

}  // namespace sandglass::sandbox
