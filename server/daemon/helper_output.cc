#include "server/daemon/helper_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// Longer lines are logged in pieces.
constexpr size_t kMaxLineBytes = 1000;
// So many different lines are remembered; with one more, none is.
constexpr size_t kMaxSeen = 1024;
// A line that has not come for so long counts as a new one.
constexpr absl::Duration kForgetAfter = absl::Hours(1);
// A line is logged at its first time, its tenth, its hundredth...
constexpr uint64_t kRarer = 10;

absl::Status PipeError() {
  return absl::InternalError(
      absl::StrCat("pipe for the output of helpers: ", ErrorText(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HelperOutput>> HelperOutput::Create() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return PipeError();
  os::Fd reading(ends[0]);
  os::Fd writing(ends[1]);
  os::Fd wake(::eventfd(0, EFD_CLOEXEC));
  // Those who write wait for room, as they would for a terminal.
  if (!wake.valid() || ::fcntl(reading.get(), F_SETFL, O_NONBLOCK) != 0) {
    return PipeError();
  }
  return std::unique_ptr<HelperOutput>(new HelperOutput(
      std::move(reading), std::move(writing), std::move(wake)));
}

HelperOutput::~HelperOutput() { Stop(); }

void HelperOutput::Divert() {
  own_.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  if (own_.valid()) ::dup2(writing_.get(), STDERR_FILENO);
}

void HelperOutput::EndDiversion() {
  if (own_.valid()) ::dup2(own_.get(), STDERR_FILENO);
  own_.reset();
  // So that the pipe has an end when the last of them is gone.
  writing_.reset();
  ReadSome();
}

void HelperOutput::Start() {
  thread_ = std::thread([this] {
    pollfd fds[] = {{reading_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    do {
      ::poll(fds, std::size(fds), -1);
    } while (fds[1].revents == 0 && ReadSome());
  });
}

void HelperOutput::Stop() {
  if (thread_.joinable()) {
    ::eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  if (!reading_.valid()) return;
  ReadSome();
  if (!unfinished_.empty()) AddLine(std::exchange(unfinished_, ""));
  reading_.reset();
}

bool HelperOutput::ReadSome() {
  // A process that writes without end doesn't keep others waiting.
  constexpr int kMaxReads = 64;
  char text[4096];
  for (int i = 0; i < kMaxReads; ++i) {
    const ssize_t size = ::read(reading_.get(), text, sizeof(text));
    if (size == 0) return false;
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    unfinished_.append(text, static_cast<size_t>(size));
    for (size_t end; (end = unfinished_.find('\n')) != std::string::npos ||
                     unfinished_.size() > kMaxLineBytes;) {
      const size_t length = std::min(end, kMaxLineBytes);
      AddLine(unfinished_.substr(0, length));
      unfinished_.erase(0, length == end ? end + 1 : length);
    }
  }
  return true;
}

void HelperOutput::AddLine(std::string line) {
  if (line.empty()) return;
  const MonotonicTime now = Now();
  if (seen_.size() >= kMaxSeen && seen_.count(line) == 0) seen_.clear();
  Seen& seen = seen_[line];
  if (seen.times > 0 && Between(seen.last, now) > kForgetAfter) seen = {};
  seen.last = now;
  if (++seen.times < seen.next) return;
  seen.next *= kRarer;
  if (seen.times == 1) {
    Log(LogLevel::kWarning, "helper_output", {{"text", std::move(line)}});
  } else {
    Log(LogLevel::kWarning, "helper_output",
        {{"text", std::move(line)}, {"times", seen.times}});
  }
}

}  // namespace sandglass::server
