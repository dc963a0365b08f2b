#ifndef SANDGLASS_CLIENT_TERMINAL_INTERRUPT_WATCHER_H_
#define SANDGLASS_CLIENT_TERMINAL_INTERRUPT_WATCHER_H_

#include <atomic>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/terminal/signal_listener.h"
#include "grpcpp/client_context.h"

namespace sandglass::client {

// On SIGINT, SIGTERM and SIGHUP, cancels the call in progress, or lets it end
// in the way that was requested. A second signal ends the process at once with
// 128 + its number. It owns the only SignalListener, so the same rules apply to
// its start.
class InterruptWatcher {
 public:
  static absl::StatusOr<std::unique_ptr<InterruptWatcher>> Start();

  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;

  // The first signal that was received; 0 when none was.
  int signal() const { return signal_.load(); }

  // While the scope lives, a signal cancels this call; if a signal was received
  // before, the call is cancelled at once. Scopes can't be nested.
  class Scope {
   public:
    Scope(InterruptWatcher& watcher, grpc::ClientContext& call)
        : watcher_(watcher) {
      watcher_.Watch(&call);
    }
    ~Scope() { watcher_.Watch(nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    InterruptWatcher& watcher_;
  };

  // While this object lives, SIGINT is meant for another program on the same
  // terminal.
  class KeyboardElsewhere {
   public:
    explicit KeyboardElsewhere(InterruptWatcher& watcher) : watcher_(watcher) {
      watcher_.keyboard_elsewhere_ = true;
    }
    ~KeyboardElsewhere() { watcher_.keyboard_elsewhere_ = false; }
    KeyboardElsewhere(const KeyboardElsewhere&) = delete;
    KeyboardElsewhere& operator=(const KeyboardElsewhere&) = delete;

   private:
    InterruptWatcher& watcher_;
  };

  // Sets what a signal does first, on a thread of its own. If `stop` returns
  // true, the call ends by itself and isn't cancelled. Applies to the current
  // scope.
  void StopBy(std::function<bool()> stop) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  InterruptWatcher() = default;
  void Watch(grpc::ClientContext* call) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnSignal(int number) ABSL_LOCKS_EXCLUDED(mutex_);

  std::atomic<int> signal_{0};
  std::atomic<bool> keyboard_elsewhere_{false};
  absl::Mutex mutex_;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::function<bool()> stop_ ABSL_GUARDED_BY(mutex_);
  // Last, because its thread uses all other members.
  std::unique_ptr<SignalListener> listener_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_INTERRUPT_WATCHER_H_
