#include "sandbox/jailed/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/jailed/call_trace.h"
#include "sandbox/os/io.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/terminal.h"

namespace sandglass::sandbox {
namespace {

bool SetStdio(const ProcessStart& start) {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::dup2(start.streams[fd], fd) < 0) return false;
  }
  return ::setsid() >= 0 && (!start.on_terminal || os::TakeTerminal(0));
}

// Nothing is open but the standard streams, 3 if that was asked for, and, until
// the exec, `other` unless it is -1; it is above 3.
bool CloseOthers(int channel, int other) {
  int from = 3;
  if (channel >= 0) {
    // dup2(2) to the same number would leave it close-on-exec.
    if (channel == 3 ? ::fcntl(3, F_SETFD, 0) != 0 : ::dup2(channel, 3) < 0) {
      return false;
    }
    from = 4;
  }
  if (other < 0) return os::CloseFrom(from);
  return os::CloseRange(from, other - 1) && os::CloseFrom(other + 1);
}

bool InstallAsking(absl::Span<const sock_filter> filter, int listener_to) {
  os::Fd listener = os::InstallAskingFilter(filter);
  if (!listener.valid()) return false;
  const bool sent = os::SendDatagram(listener_to, "l", {listener.get()});
  // Nobody answers before the exec, which closes it and the socket: what isn't
  // called can't be refused.
  (void)listener.release();
  return sent;
}

absl::string_view SearchPath(char* const* env) {
  constexpr absl::string_view kName = "PATH=";
  for (; *env != nullptr; ++env) {
    const absl::string_view entry = *env;
    if (entry.substr(0, kName.size()) == kName) {
      return entry.substr(kName.size());
    }
  }
  return "";
}

// execvpe(3) without its shell for files that are none. Returns with errno.
void Execute(char* const* argv, char* const* env) {
  const absl::string_view name = argv[0];
  if (name.empty() || name.find('/') != absl::string_view::npos) {
    ::execve(argv[0], argv, env);
    return;
  }
  int error = ENOENT;
  for (const absl::string_view directory :
       absl::StrSplit(SearchPath(env), ':')) {
    const std::string path =
        absl::StrCat(directory.empty() ? "." : directory, "/", name);
    ::execve(path.c_str(), argv, env);
    if (errno == EACCES) error = EACCES;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return;
  }
  errno = error;
}

// Runs in the child; returns only when a step failed, with errno.
void BecomeProgram(const JailPlan& plan, const os::Fd& landlock_ruleset,
                   absl::Span<const sock_filter> filter,
                   const ProcessStart& start, StartReport& report) {
  // ORDER: what needs a right comes before the rights go; Landlock before
  // seccomp, which doesn't let its calls through; descriptors last, since the
  // ruleset is one.
  report.clock.Begin(SetupStep::kSetRlimits);
  if (!SetProgramLimits(start.limits)) return;
  report.clock.Begin(SetupStep::kSetStdio);
  if (!SetStdio(start)) return;
  ::umask(022);
  report.clock.Begin(SetupStep::kDropProgramRights);
  if (!DropProgramRights()) return;
  report.clock.Begin(SetupStep::kEnterDirectory);
  if (::chdir(start.directory) != 0) return;
  report.clock.Begin(SetupStep::kLandlock);
  if (plan.landlock_abi > 0 && !os::LandlockRestrictSelf(landlock_ruleset)) {
    return;
  }
  report.clock.Begin(SetupStep::kCloseProgramFds);
  int listener_to = -1;
  if (start.listener_to >= 0 &&
      (listener_to = ::fcntl(start.listener_to, F_DUPFD_CLOEXEC, 5)) < 0) {
    return;
  }
  if (!CloseOthers(start.channel, listener_to)) return;
  os::ResetSignals();
  report.clock.Begin(SetupStep::kSeccomp);
  if (listener_to >= 0 ? !InstallAsking(filter, listener_to)
                       : !os::InstallSeccompFilter(filter)) {
    return;
  }
  report.clock.Begin(SetupStep::kExec);
  report.exec_monotonic_ns = os::MonotonicNanos();
  Execute(start.argv, start.env);
}

}  // namespace

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

pid_t StartProcess(const JailPlan& plan, const os::Fd& landlock_ruleset,
                   absl::Span<const sock_filter> filter,
                   const ProcessStart& start, StartReport& report) {
  report.clock.Begin(SetupStep::kCloneProgram);
  if (start.argv[0] == nullptr) {
    report.error = EINVAL;
    return -1;
  }
  // Vfork: init sleeps until the exec, so when this returns the report is
  // final. Not CLONE_VM: the child changes ids and must not share init's
  // memory.
  const pid_t pid =
      os::Clone3({.flags = os::kVfork, .cgroup_fd = start.cgroup});
  if (pid == 0) {
    BecomeProgram(plan, landlock_ruleset, filter, start, report);
    report.error = errno;
    ::_exit(127);
  }
  if (pid < 0) report.error = errno;
  return report.error == 0 ? pid : -1;
}

pid_t StartProgramProcess(const JailPlan& plan, const JailFds& fds,
                          absl::Span<const sock_filter> filter,
                          CallTrace* trace,
                          const internal::StartProgram& request,
                          StartReport& report) {
  const std::vector<char*> argv = Pointers(request.argv());
  const std::vector<char*> env = Pointers(request.env());
  // Not init's own /dev/null: the flags of an open file are common to all who
  // have it.
  const os::Fd null(
      request.with_stdin() ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const ProcessStart start = {
      .argv = argv.data(),
      .env = env.data(),
      .cgroup = plan.run_cgroup,
      .streams = {request.with_stdin() ? fds.streams.in.program.get()
                                       : null.get(),
                  fds.streams.out.program.get(), fds.streams.err.program.get()},
      .limits = {request.open_files(), request.file_size_bytes(),
                 request.cpu_seconds()}};
  if (trace != nullptr) {
    return trace->StartProcess(plan, fds.landlock_ruleset, start, report);
  }
  return StartProcess(plan, fds.landlock_ruleset, filter, start, report);
}

}  // namespace sandglass::sandbox
