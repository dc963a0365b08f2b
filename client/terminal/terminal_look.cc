#include "client/terminal/terminal_look.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/file_io.h"
#include "client/terminal/raw_terminal.h"

namespace sandglass::client {
namespace {

constexpr absl::Duration kLong = absl::Seconds(1);

}  // namespace

std::string EnvironmentVariable(const char* name) {
  // Nothing in this process changes its environment.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

bool MayMoveCursor(int fd) {
  const std::string term = EnvironmentVariable("TERM");
  return !term.empty() && term != "dumb" && ::isatty(fd) == 1;
}

bool MayColour(int fd) {
  return EnvironmentVariable("NO_COLOR").empty() && MayMoveCursor(fd);
}

WaitLine::WaitLine(std::string text) : text_(std::move(text)) {
  if (MayMoveCursor(STDERR_FILENO)) thread_ = std::thread([this] { Show(); });
}

WaitLine::~WaitLine() { End(); }

void WaitLine::Say(std::string text) {
  const absl::MutexLock lock(&mutex_);
  text_ = std::move(text);
}

void WaitLine::End() {
  if (!thread_.joinable()) return;
  {
    const absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  thread_.join();
}

void WaitLine::Show() {
  const absl::MutexLock lock(&mutex_);
  bool shown = false;
  for (int seconds = 1;
       !mutex_.AwaitWithTimeout(absl::Condition(&ended_), kLong); ++seconds) {
    std::string line = absl::StrCat(text_, " (", seconds, " s)");
    // A line that goes on in the next row could not be taken away.
    const size_t columns = SizeOf(STDERR_FILENO).columns();
    if (columns > 0) line = line.substr(0, std::min(line.size(), columns - 1));
    WriteAll(STDERR_FILENO, absl::StrCat("\r", line, "\x1b[K"));
    shown = true;
  }
  if (shown) WriteAll(STDERR_FILENO, "\r\x1b[K");
}

}  // namespace sandglass::client
