#include "sandbox/jailed/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/jailed/call_trace.h"
#include "sandbox/os/io.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/open_beneath.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/terminal.h"

namespace sandglass::sandbox {
namespace {

bool SetStdio(const ProcessStart& start) {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::dup2(start.streams[fd], fd) < 0) return false;
  }
  return ::setsid() >= 0 && (!start.on_terminal || os::AcquireTerminal(0));
}

// The descriptors that a process keeps besides its streams until the last
// restriction is in force. None of them is a directory.
struct Kept {
  os::Fd landlock_ruleset;  // empty when there is none
  os::Fd listener_to;       // a socket; empty: nobody asks for a listener
};

// Closes everything that init has open except the streams, `channel`, which
// becomes 3 unless it is -1, and copies of the other two descriptors, which
// become `kept`; -1 means that there is none. Returns false and sets errno on
// failure.
bool CloseOthers(int channel, int landlock_ruleset, int listener_to,
                 Kept& kept) {
  constexpr int kFirstKept = 4;
  const auto keep = [](int fd, os::Fd& copy) {
    if (fd >= 0) copy.reset(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstKept));
    return fd < 0 || copy.valid();
  };
  if (!keep(landlock_ruleset, kept.landlock_ruleset) ||
      !keep(listener_to, kept.listener_to)) {
    return false;
  }
  int from = 3;
  if (channel >= 0) {
    // dup2(2) from 3 to 3 would leave it close-on-exec.
    if (channel == 3 ? ::fcntl(3, F_SETFD, 0) != 0 : ::dup2(channel, 3) < 0) {
      return false;
    }
    from = kFirstKept;
  }
  int numbers[] = {kept.landlock_ruleset.get(), kept.listener_to.get()};
  std::sort(std::begin(numbers), std::end(numbers));
  for (const int number : numbers) {
    if (number < 0) continue;
    if (!os::CloseRange(from, number - 1)) return false;
    from = number + 1;
  }
  return os::CloseFrom(from);
}

// Sends the listener to init through `to`. Init answers nobody before the exec,
// since it sleeps until then: all calls up to the exec must be ones that the
// filter allows (policy/seccomp/seccomp_start.h).
bool InstallAsking(absl::Span<const sock_filter> filter, const os::Fd& to) {
  const os::Fd listener = os::InstallAskingFilter(filter);
  return listener.valid() && os::SendDatagram(to.get(), "l", {listener.get()});
}

// Makes `path`, which the caller or the code chose, the working directory. It
// is looked up below the jail's root, and no magic link of /proc is followed.
// Returns false and sets errno on failure; ELOOP: there is such a link on the
// way.
bool EnterDirectory(const char* path) {
  const os::Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return false;
  const os::Fd directory = os::OpenInRoot(root, path, O_PATH | O_DIRECTORY);
  return directory.valid() && ::fchdir(directory.get()) == 0;
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

// execvpe(3), except that it doesn't pass files of unknown format to a shell.
// Returns only on failure, with errno set.
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

// Runs in the child, a copy of init; returns only when a step failed, with
// errno set.
//
// ORDER: no path that the caller or the code chose is looked up before every
// restriction is in force. Init has a directory of the host open, the control
// group of the run, and through such a descriptor a path leads out of the jail
// (/proc/self/fd/8/..). So descriptors are closed first, rights and Landlock
// come next, seccomp is the last restriction, and only then follow the two
// steps that look up a path: the directory and the program. What they find is
// what the code itself could find. tests/security/posture/start_order_test.cc
// checks that from outside.
void BecomeProgram(const JailPlan& plan, const os::Fd& landlock_ruleset,
                   absl::Span<const sock_filter> filter,
                   const ProcessStart& start, StartReport& report) {
  report.clock.Begin(SetupStep::kSetStdio);
  if (!SetStdio(start)) return;
  ::umask(022);

  // None of init's descriptors is left but the ruleset, until it is applied,
  // and the socket for the filter's listener, until that has been sent.
  report.clock.Begin(SetupStep::kCloseProgramFds);
  Kept kept;
  if (!CloseOthers(start.channel, landlock_ruleset.get(), start.listener_to,
                   kept)) {
    return;
  }

  // ORDER: after init's descriptors are closed. Until then there may be more of
  // them than the program may have files open, and no copy could be made. And
  // before seccomp, which may refuse the call.
  report.clock.Begin(SetupStep::kSetRlimits);
  if (!SetProgramLimits(start.limits)) return;

  report.clock.Begin(SetupStep::kDropProgramRights);
  if (!DropProgramRights()) return;

  // Before seccomp, which doesn't allow Landlock's calls.
  report.clock.Begin(SetupStep::kLandlock);
  if (plan.landlock_abi > 0 &&
      !os::LandlockRestrictSelf(kept.landlock_ruleset)) {
    return;
  }
  kept.landlock_ruleset.reset();

  report.clock.Begin(SetupStep::kSeccomp);
  os::ResetSignals();
  if (kept.listener_to.valid() ? !InstallAsking(filter, kept.listener_to)
                               : !os::InstallSeccompFilter(filter)) {
    return;
  }
  kept.listener_to.reset();

  report.clock.Begin(SetupStep::kEnterDirectory);
  if (!EnterDirectory(start.directory)) return;

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
  // Not a copy of init's own /dev/null: all who share an open file share its
  // flags.
  const os::Fd null(
      request.with_stdin() ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!request.with_stdin() && !null.valid()) {
    report.error = errno;
    report.clock.Begin(SetupStep::kSetStdio);
    return -1;
  }
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
