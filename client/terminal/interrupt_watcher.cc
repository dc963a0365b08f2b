#include "client/terminal/interrupt_watcher.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "absl/memory/memory.h"
#include "client/base/exit_codes.h"

namespace sandglass::client {

absl::StatusOr<std::unique_ptr<InterruptWatcher>> InterruptWatcher::Start() {
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  auto watcher = absl::WrapUnique(new InterruptWatcher());
  absl::StatusOr<std::unique_ptr<SignalListener>> listener =
      SignalListener::Start(kSignals, [self = watcher.get()](int number) {
        self->OnSignal(number);
      });
  if (!listener.ok()) return listener.status();
  watcher->listener_ = *std::move(listener);
  return watcher;
}

void InterruptWatcher::Watch(grpc::ClientContext* call) {
  absl::MutexLock lock(&mutex_);
  call_ = call;
  stop_ = nullptr;
  if (call_ != nullptr && signal_.load() != 0) call_->TryCancel();
}

void InterruptWatcher::StopBy(std::function<bool()> stop) {
  absl::MutexLock lock(&mutex_);
  stop_ = std::move(stop);
}

void InterruptWatcher::OnSignal(int number) {
  if (number == SIGINT && keyboard_elsewhere_) return;
  // Ends at once: the main thread may be stuck in a write that nobody reads.
  if (signal_.load() != 0) _exit(kExitSignalBase + number);
  absl::MutexLock lock(&mutex_);
  signal_.store(number);
  if (call_ == nullptr) return;
  if (!stop_ || !stop_()) call_->TryCancel();
}

}  // namespace sandglass::client
