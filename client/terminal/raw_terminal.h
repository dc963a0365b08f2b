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

// A terminal whose keys all go to the program on the other side; as it was
// again when this goes away.
class RawTerminal {
 public:
  // `fd` is a terminal and is borrowed.
  static absl::StatusOr<std::unique_ptr<RawTerminal>> Enter(int fd);
  ~RawTerminal() { Restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Once, from any thread.
  void Restore();

 private:
  RawTerminal(int fd, const termios& before) : fd_(fd), before_(before) {}
  const int fd_;
  const termios before_;
  std::atomic<bool> restored_{false};
};

// The size of the terminal; none where it has none.
v1::TerminalSize SizeOf(int fd);

// Finds three Ctrl-] within a second among what is typed.
class DetachKeys {
 public:
  // True once they have come; `typed` came at `now`.
  bool Feed(absl::string_view typed, absl::Time now);

 private:
  int count_ = 0;
  absl::Time first_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_RAW_TERMINAL_H_
