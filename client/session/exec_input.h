#ifndef SANDGLASS_CLIENT_SESSION_EXEC_INPUT_H_
#define SANDGLASS_CLIENT_SESSION_EXEC_INPUT_H_

#include <atomic>
#include <thread>

#include "absl/status/status.h"
#include "client/base/unique_fd.h"
#include "client/terminal/raw_terminal.h"
#include "grpcpp/support/sync_stream.h"
#include "sandglass/v1/exec.pb.h"

namespace sandglass::client {

using ExecStream =
    grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>;

// Sends a command in a session what it gets while it runs: our standard input,
// the terminal's size when it changes, and that we leave. Once the stream has
// begun, only this class writes to it, on a thread of its own, which blocks
// while the command doesn't read.
class ExecInput {
 public:
  struct Options {
    bool forward_stdin = false;
    // Three Ctrl-] leave the command.
    bool detach_keys = false;
  };
  explicit ExecInput(const Options& options);
  // Waits for the thread; the stream must have ended or been cancelled before.
  ~ExecInput();
  ExecInput(const ExecInput&) = delete;
  ExecInput& operator=(const ExecInput&) = delete;

  // OK unless the kernel refused a descriptor.
  const absl::Status& status() const { return status_; }
  // Begins to send; `stream` is borrowed.
  void Start(ExecStream& stream);

  // Tell it that the terminal has another size, or that the command is to be
  // left running. May be called from any thread, and before Start too.
  void Resize();
  void Detach();

 private:
  void Wake() const;
  void Loop(ExecStream& stream);
  bool SendWhatIsAsked(ExecStream& stream);
  // Returns false when the stream has ended or nothing more is to be sent.
  bool SendInput(ExecStream& stream);

  const Options options_;
  absl::Status status_;
  UniqueFd wake_;
  std::atomic<bool> resize_{false};
  std::atomic<bool> detach_{false};
  std::atomic<bool> stop_{false};
  bool stdin_open_;
  DetachKeys keys_;
  std::thread thread_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_EXEC_INPUT_H_
