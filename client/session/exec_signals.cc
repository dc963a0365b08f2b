#include "client/session/exec_signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "client/base/exit_codes.h"

namespace sandglass::client {
namespace {

// Longer than the daemon's own grace.
constexpr std::chrono::seconds kPatience(10);

}  // namespace

absl::StatusOr<std::unique_ptr<ExecSignals>> ExecSignals::Start(
    const ExecCallOptions& options) {
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP,
                                                  SIGQUIT, SIGWINCH};
  auto signals = absl::WrapUnique(new ExecSignals(options));
  absl::StatusOr<std::unique_ptr<SignalListener>> listener =
      SignalListener::Start(kSignals, [self = signals.get()](int number) {
        self->OnSignal(number);
      });
  if (!listener.ok()) return listener.status();
  signals->listener_ = *std::move(listener);
  return signals;
}

absl::Status ExecSignals::EnterTerminal() {
  absl::StatusOr<std::unique_ptr<RawTerminal>> terminal =
      RawTerminal::Enter(STDIN_FILENO);
  if (!terminal.ok()) return terminal.status();
  absl::MutexLock lock(&mutex_);
  terminal_ = *std::move(terminal);
  return absl::OkStatus();
}

void ExecSignals::LeaveTerminal() {
  absl::MutexLock lock(&mutex_);
  terminal_ = nullptr;
}

void ExecSignals::Started(const std::string& exec_id) {
  absl::MutexLock lock(&mutex_);
  exec_id_ = exec_id;
}

int ExecSignals::signal() const {
  absl::MutexLock lock(&mutex_);
  return first_;
}

void ExecSignals::Join(const Daemon* daemon, grpc::ClientContext* context,
                       ExecInput* input) {
  absl::MutexLock lock(&mutex_);
  daemon_ = daemon;
  context_ = context;
  input_ = input;
  if (context_ != nullptr && first_ != 0) context_->TryCancel();
}

// The lock is held during the call to the daemon, so that nothing that the call
// uses goes away meanwhile.
void ExecSignals::OnSignal(int number) {
  absl::MutexLock lock(&mutex_);
  if (number == SIGWINCH) {
    if (input_ != nullptr) input_->Resize();
    return;
  }
  if (first_ == 0) first_ = number;
  ++count_;
  const int max = terminal_ != nullptr ? 1 : 2;
  if (count_ > max) {
    // The main thread may be stuck in a write that nobody reads.
    if (terminal_ != nullptr) terminal_->Restore();
    _exit(kExitSignalBase + number);
  }
  if (context_ == nullptr) return;
  if (count_ == max || exec_id_.empty()) {
    if (count_ == 2 && number == SIGINT && !options_.attached) Stop(SIGKILL);
    context_->TryCancel();
  } else if (options_.attached) {
    input_->Detach();
  } else if (number == SIGINT) {
    PassOn(number);
  } else {
    Stop(number);
  }
}

// Sent outside of the stream, whose data waits for a command that reads
// nothing.
void ExecSignals::PassOn(int number) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::SignalExecRequest request;
  request.set_session_id(options_.session_id);
  request.set_exec_id(exec_id_);
  request.set_signal(number);
  v1::SignalExecResponse response;
  // A command that has ended meanwhile needs no signal.
  daemon_->execs->SignalExec(&context, request, &response);
}

void ExecSignals::Stop(int number) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::StopExecRequest request;
  request.set_session_id(options_.session_id);
  request.set_exec_id(exec_id_);
  request.set_signal(number);
  v1::StopExecResponse response;
  daemon_->execs->StopExec(&context, request, &response);
}

}  // namespace sandglass::client
