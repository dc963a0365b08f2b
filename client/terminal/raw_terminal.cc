#include "client/terminal/raw_terminal.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "absl/memory/memory.h"
#include "absl/status/status.h"

namespace sandglass::client {
namespace {

constexpr char kDetachKey = 0x1d;
constexpr int kDetachCount = 3;
constexpr absl::Duration kDetachTime = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<RawTerminal>> RawTerminal::Enter(int fd) {
  termios before = {};
  if (tcgetattr(fd, &before) != 0) {
    return absl::ErrnoToStatus(errno, "cannot ask the terminal for its state");
  }
  auto terminal = absl::WrapUnique(new RawTerminal(fd, before));
  termios raw = before;
  cfmakeraw(&raw);
  if (tcsetattr(fd, TCSADRAIN, &raw) != 0) {
    return absl::ErrnoToStatus(errno, "cannot set the terminal's state");
  }
  return terminal;
}

void RawTerminal::Restore() {
  if (!restored_.exchange(true)) tcsetattr(fd_, TCSANOW, &before_);
}

v1::TerminalSize SizeOf(int fd) {
  v1::TerminalSize size;
  winsize window = {};
  if (ioctl(fd, TIOCGWINSZ, &window) == 0) {
    size.set_rows(window.ws_row);
    size.set_columns(window.ws_col);
  }
  return size;
}

bool DetachKeys::Feed(absl::string_view typed, absl::Time now) {
  for (const char key : typed) {
    if (key != kDetachKey) {
      count_ = 0;
      continue;
    }
    if (count_ == 0 || now - first_ > kDetachTime) {
      count_ = 0;
      first_ = now;
    }
    if (++count_ == kDetachCount) return true;
  }
  return false;
}

}  // namespace sandglass::client
