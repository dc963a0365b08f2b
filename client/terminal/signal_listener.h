#ifndef SANDGLASS_CLIENT_TERMINAL_SIGNAL_LISTENER_H_
#define SANDGLASS_CLIENT_TERMINAL_SIGNAL_LISTENER_H_

#include <signal.h>

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {

// Takes over signals to the process and passes their numbers one by one to a
// function, on a thread of its own. The signals are blocked and read from a
// descriptor, so no code of ours runs in a signal handler. Signals that were
// ignored when the process started (nohup, a shell's background job) stay
// ignored.
//
// At most one instance may exist. Start it before any other thread, because
// gRPC's threads must inherit the signal mask.
class SignalListener {
 public:
  using Handler = std::function<void(int)>;

  static absl::StatusOr<std::unique_ptr<SignalListener>> Start(
      absl::Span<const int> signals, Handler handler);
  // Waits for a handler that is running, ends the thread and unblocks the
  // signals.
  ~SignalListener();

  SignalListener(const SignalListener&) = delete;
  SignalListener& operator=(const SignalListener&) = delete;

 private:
  SignalListener(Handler handler, UniqueFd signals, UniqueFd stop,
                 const sigset_t& old_mask);
  void Loop();

  const Handler handler_;
  const UniqueFd signals_;
  const UniqueFd stop_;
  const sigset_t old_mask_;
  std::thread thread_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_SIGNAL_LISTENER_H_
