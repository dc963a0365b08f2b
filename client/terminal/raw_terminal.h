#ifndef SANDGLASS_CLIENT_TERMINAL_RAW_TERMINAL_H_
#define SANDGLASS_CLIENT_TERMINAL_RAW_TERMINAL_H_

#include <termios.h>

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandglass/v1/exec.pb.h"

namespace sandglass::client {

// A terminal whose keys all go to the program on the other side. The destructor
// restores its previous state.
class RawTerminal {
 public:
  // `fd` is a terminal and is borrowed.
  static absl::StatusOr<std::unique_ptr<RawTerminal>> Enter(int fd);
  ~RawTerminal() { Restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // May be called from any thread; only the first call has an effect.
  void Restore();

 private:
  RawTerminal(int fd, const termios& before) : fd_(fd), before_(before) {}
  const int fd_;
  const termios before_;
  std::atomic<bool> restored_{false};
};

// The size of the terminal; empty if it has none.
v1::TerminalSize SizeOf(int fd);

// Recognises three Ctrl-] within a second in what is typed.
class DetachKeys {
 public:
  // Returns true once they have been typed; `typed` was typed at `now`.
  bool Feed(absl::string_view typed, absl::Time now);

 private:
  int count_ = 0;
  absl::Time first_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_RAW_TERMINAL_H_
