#include "client/mcp/http/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"

namespace sandglass::client {
namespace {

// How long the rest of a refused request is read and dropped.
constexpr absl::Duration kLinger = absl::Seconds(2);
constexpr size_t kLingerBytes = 64 << 20;

int MillisecondsTo(absl::Time deadline) {
  const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

// Waits for the first of two descriptors. True when it is ready, false when the
// time is over or the second one is readable.
bool WaitFor(int fd, short events, int stop, absl::Time deadline) {
  for (;;) {
    pollfd pollers[] = {{fd, events, 0}, {stop, POLLIN, 0}};
    const int ready = poll(pollers, 2, MillisecondsTo(deadline));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && pollers[1].revents == 0;
  }
}

}  // namespace

HttpConnection::HttpConnection(UniqueFd connection, const HttpBounds& bounds,
                               const StopSignal& stop)
    : connection_(std::move(connection)),
      bounds_(bounds),
      stop_(stop),
      deadline_(absl::Now() + bounds.patience) {}

int HttpConnection::ReadSome() {
  if (!WaitFor(connection_.get(), POLLIN, stop_.fd(), deadline_)) {
    return stop_.is_set() ? -1 : 408;
  }
  char chunk[64 * 1024];
  const ssize_t got = recv(connection_.get(), chunk, sizeof(chunk), 0);
  if (got < 0 && errno == EINTR) return 0;
  if (got <= 0) return -1;
  received_.append(chunk, static_cast<size_t>(got));
  return 0;
}

int HttpConnection::ReadHead(HttpRequest& request) {
  size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (received_.size() > bounds_.head_bytes) return 431;
    const int status = ReadSome();
    if (status != 0) return status;
  }
  if (end > bounds_.head_bytes) return 431;
  std::optional<HttpRequest> parsed =
      ParseHttpHead(absl::string_view(received_).substr(0, end));
  if (!parsed) return 400;
  received_.erase(0, end + 4);
  request = *std::move(parsed);
  return 0;
}

int HttpConnection::ReadBody(HttpRequest& request) {
  const BodyLength length = BodyLengthOf(request);
  if (length.status != 0) return length.status;
  if (length.bytes > bounds_.body_bytes) return 413;
  const std::optional<std::string> expected = request.Header("expect");
  if (expected && absl::EqualsIgnoreCase(*expected, "100-continue") &&
      received_.size() < length.bytes &&
      !Write("HTTP/1.1 100 Continue\r\n\r\n")) {
    return -1;
  }
  while (received_.size() < length.bytes) {
    const int status = ReadSome();
    if (status != 0) return status;
  }
  request.body = received_.substr(0, length.bytes);
  received_.clear();
  return 0;
}

bool HttpConnection::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    if (!WaitFor(connection_.get(), POLLOUT, stop_.fd(),
                 absl::Now() + bounds_.patience)) {
      return false;
    }
    const ssize_t wrote = send(connection_.get(), bytes.data(), bytes.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

HttpConnection::Event HttpConnection::Wait(const UniqueFd& wake,
                                           absl::Duration most) {
  pollfd pollers[] = {{wake.get(), POLLIN, 0},
                      {stop_.fd(), POLLIN, 0},
                      {connection_.get(), POLLIN | POLLRDHUP, 0}};
  if (poll(pollers, 3, MillisecondsTo(absl::Now() + most)) <= 0) {
    return Event::kNothing;
  }
  if (pollers[1].revents != 0 ||
      (pollers[2].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    return Event::kClosed;
  }
  if (pollers[0].revents != 0) return Event::kWoken;
  // Only one request per connection is read.
  char ignored[4096];
  recv(connection_.get(), ignored, sizeof(ignored), MSG_DONTWAIT);
  return Event::kNothing;
}

void HttpConnection::Finish() {
  shutdown(connection_.get(), SHUT_WR);
  // Closing with unread data would reset the connection, and the answer might
  // be lost with it.
  const absl::Time deadline = absl::Now() + kLinger;
  size_t left = kLingerBytes;
  char ignored[64 * 1024];
  while (WaitFor(connection_.get(), POLLIN, stop_.fd(), deadline)) {
    const ssize_t got = recv(connection_.get(), ignored, sizeof(ignored), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || static_cast<size_t>(got) >= left) return;
    left -= static_cast<size_t>(got);
  }
}

}  // namespace sandglass::client
