#include "sandbox/egress/waiting.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/status.h"

namespace sandglass::egress {
namespace {

socklen_t FillAddress(const policy::IpAddress& address, uint16_t port,
                      sockaddr_storage& out) {
  const std::string_view bytes = address.bytes();
  if (address.is_v4()) {
    sockaddr_in v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, bytes.data(), sizeof(v4.sin_addr));
    std::memcpy(&out, &v4, sizeof(v4));
    return sizeof(v4);
  }
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  std::memcpy(&v6.sin6_addr, bytes.data(), sizeof(v6.sin6_addr));
  std::memcpy(&out, &v6, sizeof(v6));
  return sizeof(v6);
}

}  // namespace

int PollTimeout(absl::Time until) {
  constexpr absl::Duration kLongest = absl::Minutes(1);
  const absl::Duration left = std::min(until - os::SteadyNow(), kLongest);
  if (left <= absl::ZeroDuration()) return 0;
  // Rounded up: otherwise the caller would spin during the last millisecond.
  return static_cast<int>(absl::ToInt64Milliseconds(
      left + absl::Milliseconds(1) - absl::Nanoseconds(1)));
}

void Reset(int socket) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

Patience Patience::AtMost(absl::Duration longest) const {
  return {std::min(until, os::SteadyNow() + longest), ended};
}

absl::Status WaitFor(int socket, int16_t events, const Patience& patience) {
  for (;;) {
    pollfd fds[] = {{socket, events, 0}, {patience.ended, POLLIN, 0}};
    const int ready = ::poll(fds, 2, PollTimeout(patience.until));
    if (ready < 0 && errno != EINTR) return os::ErrnoStatus("poll");
    if (fds[1].revents != 0) return absl::CancelledError("the jail has ended");
    if (ready > 0) return absl::OkStatus();
    if (os::SteadyNow() >= patience.until) {
      return absl::DeadlineExceededError("that took too long");
    }
  }
}

absl::Status WriteAll(int socket, std::string_view data,
                      const Patience& patience) {
  while (!data.empty()) {
    const ssize_t size = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (size > 0) {
      data.remove_prefix(static_cast<size_t>(size));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return os::ErrnoStatus("send");
    if (absl::Status waited = WaitFor(socket, POLLOUT, patience);
        !waited.ok()) {
      return waited;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<os::Fd> Connect(const policy::IpAddress& address, uint16_t port,
                               const Patience& patience) {
  os::Fd socket(::socket(address.is_v4() ? AF_INET : AF_INET6,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return os::ErrnoStatus("socket");
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
  sockaddr_storage to = {};
  const socklen_t size = FillAddress(address, port, to);
  int error = 0;
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), size) != 0) {
    if (errno != EINPROGRESS) {
      error = errno;
    } else {
      absl::Status waited = WaitFor(socket.get(), POLLOUT, patience);
      if (!waited.ok()) return waited;
      socklen_t length = sizeof(error);
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
  }
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        address.ToString(), " port ", port, ": ", os::ErrorText(error)));
  }
  return socket;
}

}  // namespace sandglass::egress
