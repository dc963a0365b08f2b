// The processes that init starts: kernels, programs, commands.
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "sandbox/os/io.h"
#include "sandbox/os/status.h"
#include "server/base/monotonic.h"
#include "server/base/poll_until.h"
#include "server/session/jail_host.h"
#include "server/session/jail_host_times.h"

namespace sandglass::server {

absl::Status JailHost::Spawn(const sandbox::ProcessSpec& spec,
                             CancelToken& cancel, int64_t deadline,
                             Kernel& kernel) {
  int control = -1;
  {
    absl::ReaderMutexLock unfrozen(&jail_.forking());
    absl::MutexLock lock(&jail_.mutex());
    jail_.process(kernel.process) = {};
    if (absl::Status asked = jail_.get()->Spawn(kernel.process, spec);
        !asked.ok()) {
      return asked;
    }
    control = jail_.get()->jail().control_fd();
  }
  while (true) {
    struct pollfd fds[] = {{control, POLLIN, 0}, {cancel.fd(), POLLIN, 0}};
    PollUntil(fds, 2, std::min(deadline, After(Now(), kLookInterval)));
    absl::MutexLock lock(&jail_.mutex());
    jail_.Pump();
    if (cancel.reason().has_value()) {
      return absl::CancelledError("cancelled before the program started");
    }
    if (!jail_.Lives()) return absl::InternalError(jail_.death());
    HostedJail::Process& process = jail_.process(kernel.process);
    if (process.stage == HostedJail::Process::Stage::kFailed) {
      const std::string why = absl::StrCat(
          kernel.is_program ? "the program" : "the kernel",
          " could not be started: ",
          sandbox::SetupStepName(static_cast<int>(process.failed.step)), ": ",
          os::ErrorText(process.failed.error));
      return os::IsShortage(process.failed.error)
                 ? absl::ResourceExhaustedError(absl::StrCat(
                       why,
                       "; the session, by its own limits, or the machine "
                       "has no room for one more"))
                 : absl::InternalError(why);
    }
    if (process.stage != HostedJail::Process::Stage::kAsked) {
      sandbox::ProcessFds& ends = process.spawned.fds;
      kernel.pid = process.spawned.pid;
      kernel.in = std::move(ends.stdin_fd);
      kernel.out = std::move(ends.stdout_fd);
      kernel.err = std::move(ends.stderr_fd);
      kernel.events = std::move(ends.channel);
      kernel.kill = std::move(ends.kill);
      return absl::OkStatus();
    }
    if (Now() >= deadline) {
      return absl::InternalError("the kernel was not started in time");
    }
  }
}

absl::Status JailHost::Attach(CancelToken& cancel) {
  // Nothing can be started in a jail whose processes are stopped.
  { absl::ReaderMutexLock unfrozen(&jail_.forking()); }
  return Attach(FirstUse(), cancel);
}

bool JailHost::IsAttached() const {
  absl::MutexLock lock(&jail_.mutex());
  return jail_.TakesCommands();
}

os::Fd JailHost::NewsFd() const {
  absl::MutexLock lock(&jail_.mutex());
  if (!jail_.Lives()) return {};
  return os::Fd(::fcntl(jail_.get()->jail().control_fd(), F_DUPFD_CLOEXEC, 0));
}

absl::Status JailHost::StartProcess(const sandbox::ProcessSpec& spec,
                                    TakeProcessNews take) {
  absl::MutexLock lock(&jail_.mutex());
  return jail_.StartCommand(spec, std::move(take));
}

void JailHost::TakeNews() {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
}

void JailHost::SignalProcess(pid_t pid, int signal, bool to_group) {
  absl::MutexLock lock(&jail_.mutex());
  if (jail_.Lives()) (void)jail_.get()->SendSignal(pid, signal, to_group);
}

void JailHost::KillProcess(uint64_t id) {
  absl::MutexLock lock(&jail_.mutex());
  if (jail_.Lives()) (void)jail_.get()->KillByPid(id);
}

JailFacts JailHost::Facts() const {
  JailFacts facts;
  std::shared_ptr<sandbox::SessionJail> kept;
  {
    absl::MutexLock lock(&jail_.mutex());
    if (jail_.get() == nullptr) return facts;
    kept = jail_.Share();
    facts.kernel_busy =
        std::any_of(places_.begin(), places_.end(), [](const auto& place) {
          return place.second.status.state == KernelStatus::State::kBusy;
        });
  }
  const sandbox::Jail& jail = kept->jail();
  facts.counters = jail.ReadCounters();
  facts.memory = jail.SampleMemory();
  facts.filesystems = jail.FilesystemFills();
  facts.processes = jail.ProcessCount();
  facts.network = jail.ReadNetworkUse();
  return facts;
}

policy::UnchargedMemory JailHost::ReadUncharged() const {
  std::shared_ptr<sandbox::SessionJail> kept;
  {
    absl::MutexLock lock(&jail_.mutex());
    if (!jail_.Lives()) return {};
    kept = jail_.Share();
  }
  return kept->jail().ReadUncharged();
}

}  // namespace sandglass::server
