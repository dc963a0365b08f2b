#ifndef SANDGLASS_CLIENT_SESSION_EXEC_SIGNALS_H_
#define SANDGLASS_CLIENT_SESSION_EXEC_SIGNALS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/connection/daemon.h"
#include "client/session/exec_call.h"
#include "client/session/exec_input.h"
#include "client/terminal/raw_terminal.h"
#include "client/terminal/signal_listener.h"
#include "grpcpp/client_context.h"

namespace sandglass::client {

// What signals to this client do to the command that it runs:
// - Ctrl-C (SIGINT) is passed to the command; the second time the command is
//   killed. When it is only attached, the first Ctrl-C leaves it running.
// - SIGTERM, SIGHUP and SIGQUIT stop the command with that signal, and after
//   the daemon's grace with SIGKILL.
// - If the command has a terminal of its own, keys are for the command; a
//   signal ends the call, and SIGWINCH passes on the new size.
// One more signal ends the call, and the next one the process, with the
// terminal's previous state restored.
class ExecSignals {
 public:
  // Owns the only SignalListener, so the same rules apply to its start.
  static absl::StatusOr<std::unique_ptr<ExecSignals>> Start(
      const ExecCallOptions& options);

  ExecSignals(const ExecSignals&) = delete;
  ExecSignals& operator=(const ExecSignals&) = delete;

  // Switches our terminal to a mode in which all keys are for the command.
  absl::Status EnterTerminal() ABSL_LOCKS_EXCLUDED(mutex_);
  // Restores our terminal. Call it before anything else is printed.
  void LeaveTerminal() ABSL_LOCKS_EXCLUDED(mutex_);

  // The objects on which signals act, until the scope ends.
  class Scope {
   public:
    Scope(ExecSignals& signals, const Daemon& daemon,
          grpc::ClientContext& context, ExecInput& input)
        : signals_(signals) {
      signals_.Join(&daemon, &context, &input);
    }
    ~Scope() { signals_.Join(nullptr, nullptr, nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ExecSignals& signals_;
  };

  // Says that the command runs under this id.
  void Started(const std::string& exec_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // The first signal that was to end or leave the command; 0 when there was
  // none.
  int signal() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit ExecSignals(const ExecCallOptions& options) : options_(options) {}
  void Join(const Daemon* daemon, grpc::ClientContext* context,
            ExecInput* input) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnSignal(int number) ABSL_LOCKS_EXCLUDED(mutex_);
  void PassOn(int number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Stop(int number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ExecCallOptions options_;
  mutable absl::Mutex mutex_;
  const Daemon* daemon_ ABSL_GUARDED_BY(mutex_) = nullptr;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  ExecInput* input_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::string exec_id_ ABSL_GUARDED_BY(mutex_);
  int first_ ABSL_GUARDED_BY(mutex_) = 0;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<RawTerminal> terminal_ ABSL_GUARDED_BY(mutex_);
  // Last, because its thread uses all other members.
  std::unique_ptr<SignalListener> listener_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_EXEC_SIGNALS_H_
