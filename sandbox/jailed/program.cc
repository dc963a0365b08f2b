#include "sandbox/jailed/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "sandbox/jailed/layout.h"
#include "sandbox/jailed/program_rights.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"

namespace sandglass::sandbox {
namespace {

bool SetStdio(const JailFds& fds, bool with_stdin) {
  // Not init's own /dev/null: the flags of an open file are common to all who
  // have it.
  const os::Fd null(with_stdin ? -1 : ::open("/dev/null", O_RDONLY));
  const int input = with_stdin ? fds.streams.in.program.get() : null.get();
  if (::dup2(input, 0) < 0) return false;
  return ::dup2(fds.streams.out.program.get(), 1) >= 0 &&
         ::dup2(fds.streams.err.program.get(), 2) >= 0 &&
         ::chdir(kWorkspace) == 0;
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
  if (!SetProgramLimits({request.open_files(), request.file_size_bytes(),
                         request.cpu_seconds()})) {
    return;
  }
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
  os::ResetSignals();
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
