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
namespace {}  // namespace

absl::Status JailHost::Spawn(const sandbox::ProcessSpec& spec,
                             CancelToken& cancel, int64_t deadline,
                             Kernel& kernel) {
  int control = -1;
  {
    absl::ReaderMutexLock unfrozen(&forking_);
    absl::MutexLock lock(&mutex_);
    processes_[kernel.process] = {};
    if (absl::Status asked = jail_->Spawn(kernel.process, spec); !asked.ok()) {
      return asked;
    }
    control = jail_->jail().control_fd();
  }
  while (true) {
    struct pollfd fds[] = {{control, POLLIN, 0}, {cancel.fd(), POLLIN, 0}};
    PollUntil(fds, 2, std::min(deadline, After(Now(), kLookInterval)));
    absl::MutexLock lock(&mutex_);
    Pump();
    if (cancel.reason().has_value()) {
      return absl::CancelledError("cancelled before the program started");
    }
    if (!JailLives()) return absl::InternalError(death_);
    Process& process = processes_[kernel.process];
    if (process.stage == Process::Stage::kFailed) {
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
    if (process.stage != Process::Stage::kAsked) {
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
  { absl::ReaderMutexLock unfrozen(&forking_); }
  return Attach(FirstUse(), cancel);
}

bool JailHost::IsAttached() const {
  absl::MutexLock lock(&mutex_);
  return JailLives() && filled_ && !frozen_;
}

os::Fd JailHost::NewsFd() const {
  absl::MutexLock lock(&mutex_);
  if (!JailLives()) return {};
  return os::Fd(::fcntl(jail_->jail().control_fd(), F_DUPFD_CLOEXEC, 0));
}

absl::Status JailHost::StartProcess(const sandbox::ProcessSpec& spec,
                                    TakeProcessNews take) {
  absl::MutexLock lock(&mutex_);
  if (ended_) return absl::CancelledError("the session has ended");
  if (jail_ == nullptr) return absl::InternalError("there is no jail");
  if (!death_.empty()) return absl::InternalError(death_);
  const uint64_t process = next_process_++;
  if (absl::Status asked = jail_->Spawn(process, spec); !asked.ok()) {
    return asked;
  }
  commands_[process] = std::move(take);
  return absl::OkStatus();
}

void JailHost::TakeNews() {
  absl::MutexLock lock(&mutex_);
  Pump();
}

bool JailHost::TakeForCommand(sandbox::SessionEvent& event) const {
  const auto find = [&](uint64_t process) {
    mutex_.AssertHeld();
    return commands_.find(process);
  };
  if (auto* spawned = std::get_if<sandbox::SpawnedEvent>(&event)) {
    const auto found = find(spawned->id);
    if (found == commands_.end()) return false;
    found->second(std::move(*spawned));
    return true;
  }
  auto ended = commands_.end();
  ProcessNews news;
  if (const auto* failed = std::get_if<sandbox::SpawnFailedEvent>(&event)) {
    ended = find(failed->id);
    news = *failed;
  } else if (const auto* exited =
                 std::get_if<sandbox::ProcessExitedEvent>(&event)) {
    ended = find(exited->id);
    news = *exited;
  }
  if (ended == commands_.end()) return false;
  const TakeProcessNews take = std::move(ended->second);
  commands_.erase(ended);
  take(std::move(news));
  return true;
}

void JailHost::NoteDenied(const sandbox::SessionEvent& event) const {
  if (parts_.denied == nullptr) return;
  const sandbox::RefusedCalls* calls = nullptr;
  if (const auto* ended = std::get_if<sandbox::ProcessExitedEvent>(&event)) {
    calls = &ended->refused;
  } else if (const auto* main = std::get_if<sandbox::ExitedEvent>(&event)) {
    calls = &main->refused;
  }
  if (calls == nullptr) return;
  parts_.denied->Note(
      {.language = spec_.language == nullptr ? "" : spec_.language->id,
       .profile = spec_.profile->name},
      *calls);
}

void JailHost::TellCommands(const std::function<ProcessNews()>& news) const {
  for (const auto& [process, take] : commands_) take(news());
}

void JailHost::Die(std::string how) const {
  death_ = std::move(how);
  const bool out_of_memory = jail_->jail().SawOomKill();
  TellCommands([&] {
    mutex_.AssertHeld();
    return JailDied{death_, out_of_memory};
  });
  commands_.clear();
}

void JailHost::SignalProcess(pid_t pid, int signal, bool to_group) {
  absl::MutexLock lock(&mutex_);
  if (JailLives()) (void)jail_->SendSignal(pid, signal, to_group);
}

void JailHost::KillProcess(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  if (JailLives()) (void)jail_->KillByPid(id);
}

JailFacts JailHost::Facts() const {
  JailFacts facts;
  std::shared_ptr<sandbox::SessionJail> kept;
  {
    absl::MutexLock lock(&mutex_);
    if (jail_ == nullptr) return facts;
    kept = jail_;
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
    absl::MutexLock lock(&mutex_);
    if (!JailLives()) return {};
    kept = jail_;
  }
  return kept->jail().ReadUncharged();
}

}  // namespace sandglass::server
