#ifndef SANDGLASS_CLIENT_INTERRUPT_WATCHER_H_
#define SANDGLASS_CLIENT_INTERRUPT_WATCHER_H_

#include <signal.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/unique_fd.h"
#include "grpcpp/client_context.h"

namespace sandglass::client {

// Turns SIGINT, SIGTERM and SIGHUP into the cancellation of the call under
// way. The signals are blocked and read from a descriptor by a thread of its
// own, so no code of ours runs in a signal handler. A second signal ends the
// process at once with 128 + its number. Signals that were ignored when the
// process started (nohup, a shell's background job) stay ignored.
//
// At most one instance; start it before any other thread, for gRPC's threads
// must inherit the mask.
class InterruptWatcher {
 public:
  static absl::StatusOr<std::unique_ptr<InterruptWatcher>> Start();
  // Ends the thread and gives the signals back.
  ~InterruptWatcher();

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

 private:
  InterruptWatcher(UniqueFd signals, UniqueFd stop, const sigset_t& old_mask);
  void Watch(grpc::ClientContext* call) ABSL_LOCKS_EXCLUDED(mutex_);
  void Loop();

  const UniqueFd signals_;
  const UniqueFd stop_;
  const sigset_t old_mask_;
  std::atomic<int> signal_{0};
  absl::Mutex mutex_;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_INTERRUPT_WATCHER_H_
