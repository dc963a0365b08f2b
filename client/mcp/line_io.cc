#include "client/mcp/line_io.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sandglass::client {
namespace {

constexpr int kPatienceMs = 2000;

}  // namespace

bool LineReader::Read() {
  for (;;) {
    pollfd pollers[] = {{fd_, POLLIN, 0}, {stop_.fd(), POLLIN, 0}};
    if (poll(pollers, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (pollers[1].revents != 0) return false;
    char chunk[64 * 1024];
    const ssize_t got = read(fd_, chunk, sizeof(chunk));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    buffer_.append(chunk, static_cast<size_t>(got));
    return true;
  }
}

LineReader::Got LineReader::Next(std::string& line) {
  for (;;) {
    const size_t newline = buffer_.find('\n', searched_);
    if (newline != std::string::npos) {
      line = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      searched_ = 0;
      if (std::exchange(skipping_, false) || line.size() > max_bytes_) {
        return Got::kTooLong;
      }
      return Got::kLine;
    }
    if (buffer_.size() > max_bytes_) {
      buffer_.clear();
      skipping_ = true;
    }
    searched_ = buffer_.size();
    if (ended_) return Got::kEnd;
    if (Read()) continue;
    ended_ = true;
    if (stop_.is_set()) return Got::kEnd;
    if (std::exchange(skipping_, false)) return Got::kTooLong;
    if (!buffer_.empty()) {
      line = std::exchange(buffer_, {});
      searched_ = 0;
      return Got::kLine;
    }
  }
}

void LineWriter::Write(absl::string_view line) {
  const std::string whole = absl::StrCat(line, "\n");
  const absl::MutexLock lock(&mutex_);
  if (broken_) return;
  if (!WriteBytes(whole)) {
    broken_ = true;
    stop_.Set();
  }
}

bool LineWriter::WriteBytes(absl::string_view bytes) {
  bool stopping = stop_.is_set();
  while (!bytes.empty()) {
    pollfd pollers[] = {{fd_, POLLOUT, 0}, {stop_.fd(), POLLIN, 0}};
    const int ready =
        poll(pollers, stopping ? 1 : 2, stopping ? kPatienceMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (pollers[0].revents == 0) {
      stopping = true;
      continue;
    }
    // A writable pipe accepts this many bytes without blocking.
    const ssize_t wrote =
        write(fd_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

}  // namespace sandglass::client
