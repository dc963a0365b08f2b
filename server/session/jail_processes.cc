#include "server/session/jail_processes.h"

#include <fcntl.h>

#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace sandglass::server {

absl::Status JailProcesses::Attach(CancelToken& cancel) {
  // Nothing can be started in a jail whose processes are stopped.
  { absl::ReaderMutexLock unfrozen(&jail_.forking()); }
  return attachment_.Attach(FirstUse(), cancel);
}

bool JailProcesses::IsAttached() const {
  absl::MutexLock lock(&jail_.mutex());
  return jail_.TakesCommands();
}

os::Fd JailProcesses::NewsFd() const {
  absl::MutexLock lock(&jail_.mutex());
  if (!jail_.Lives()) return {};
  return os::Fd(::fcntl(jail_.get()->jail().control_fd(), F_DUPFD_CLOEXEC, 0));
}

absl::Status JailProcesses::StartProcess(const sandbox::ProcessSpec& spec,
                                         ProcessNewsHandler take) {
  absl::MutexLock lock(&jail_.mutex());
  return jail_.StartCommand(spec, std::move(take));
}

void JailProcesses::DeliverNews() {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
}

void JailProcesses::SignalProcess(pid_t pid, int signal, bool to_group) {
  absl::MutexLock lock(&jail_.mutex());
  if (jail_.Lives()) (void)jail_.get()->SendSignal(pid, signal, to_group);
}

void JailProcesses::KillProcess(uint64_t id) {
  absl::MutexLock lock(&jail_.mutex());
  if (jail_.Lives()) (void)jail_.get()->KillByPid(id);
}

bool JailProcesses::BeginTurn() {
  absl::MutexLock lock(&jail_.mutex());
  return jail_.Lives() && jail_.get()->jail().cpu_turn().Begin();
}

void JailProcesses::YieldTurn() {
  absl::MutexLock lock(&jail_.mutex());
  if (jail_.Lives()) jail_.get()->jail().cpu_turn().Yield();
}

JailFacts JailProcesses::Facts() const {
  JailFacts facts;
  std::shared_ptr<sandbox::SessionJail> kept;
  {
    absl::MutexLock lock(&jail_.mutex());
    if (jail_.get() == nullptr) return facts;
    kept = jail_.get();
    facts.kernel_busy = kernels_.AnyIsBusy();
  }
  const sandbox::Jail& jail = kept->jail();
  facts.counters = jail.ReadCounters();
  facts.memory = jail.SampleMemory();
  facts.filesystems = jail.FilesystemFills();
  facts.network = jail.ReadNetworkUse();
  return facts;
}

policy::UnchargedMemory JailProcesses::ReadUncharged() const {
  std::shared_ptr<sandbox::SessionJail> kept;
  {
    absl::MutexLock lock(&jail_.mutex());
    if (!jail_.Lives()) return {};
    kept = jail_.get();
  }
  return kept->jail().ReadUncharged();
}

}  // namespace sandglass::server
