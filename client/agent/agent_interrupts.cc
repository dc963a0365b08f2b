#include "client/agent/agent_interrupts.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/memory/memory.h"
#include "client/base/exit_codes.h"

namespace sandglass::client {

absl::StatusOr<std::unique_ptr<AgentInterrupts>> AgentInterrupts::Start() {
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  UniqueFd prompt(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (prompt.get() < 0) return absl::ErrnoToStatus(errno, "eventfd");
  auto interrupts = absl::WrapUnique(new AgentInterrupts(std::move(prompt)));
  absl::StatusOr<std::unique_ptr<SignalListener>> listener =
      SignalListener::Start(kSignals, [self = interrupts.get()](int number) {
        self->OnSignal(number);
      });
  if (!listener.ok()) return listener.status();
  interrupts->listener_ = *std::move(listener);
  return interrupts;
}

void AgentInterrupts::ConsumePromptSignal() const {
  eventfd_t count = 0;
  ::eventfd_read(prompt_.get(), &count);
}

void AgentInterrupts::OnSignal(int number) {
  const bool ends = number != SIGINT;
  if (ends && ended_by_.exchange(number) != 0) {
    ::_exit(kExitSignalBase + number);
  }
  const absl::MutexLock lock(&mutex_);
  if (in_turn_ && (ends || (!tools_.empty() && !tools_stopped_))) {
    tools_stopped_ = true;
    for (CallCancel* tool : tools_) tool->Cancel();
    if (ends) turn_cancelled_ = true;
  } else if (in_turn_) {
    // Ends at once: the main thread may be stuck in a write that nobody reads.
    if (turn_cancelled_.exchange(true)) ::_exit(kExitSignalBase + number);
  }
  ::eventfd_write(prompt_.get(), 1);
}

void AgentInterrupts::SetInTurn(bool in_turn) {
  const absl::MutexLock lock(&mutex_);
  in_turn_ = in_turn;
  turn_cancelled_ = in_turn && ended_by_ != 0;
  if (!in_turn) ConsumePromptSignal();
}

void AgentInterrupts::Add(CallCancel& cancel) {
  const absl::MutexLock lock(&mutex_);
  if (tools_.empty()) tools_stopped_ = false;
  tools_.insert(&cancel);
  if (turn_cancelled_ || tools_stopped_) cancel.Cancel();
}

void AgentInterrupts::Remove(CallCancel& cancel) {
  const absl::MutexLock lock(&mutex_);
  tools_.erase(&cancel);
}

}  // namespace sandglass::client
