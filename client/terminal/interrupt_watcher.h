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

// Turns SIGINT, SIGTERM and SIGHUP into the cancellation of the call under
// way, or lets that end as it was asked to. A second signal ends the process at
// once with 128 + its number. To be started as SignalListener is, of which it
// has the only one.
class InterruptWatcher {
 public:
  static absl::StatusOr<std::unique_ptr<InterruptWatcher>> Start();

  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;

  // The first signal that came; 0 when none did.
  int signal() const { return signal_.load(); }

  // Makes a signal cancel this call as long as the scope lives; at once when
  // one came before. Not nested.
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

  // SIGINT is meant for another program on the same terminal, as long as this
  // lives.
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

  // What a signal does first, in a thread of its own; true when the call then
  // ends by itself and is not to be cancelled. For the scope that is there.
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
  // Last: its thread uses all the others.
  std::unique_ptr<SignalListener> listener_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_INTERRUPT_WATCHER_H_
