#include "sandbox/file_agent/port_connect.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace sandglass::sandbox {
namespace {

constexpr int kMoment = 50;  // milliseconds

FileResult ConnectTo(const sockaddr* address, socklen_t size, os::Fd& socket) {
  os::Fd made(::socket(address->sa_family,
                       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       IPPROTO_TCP));
  if (!made.valid()) return ResultOfErrno(errno);
  // Somebody waits at the other end for each piece.
  const int on = 1;
  (void)::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(made.get(), address, size) != 0 && errno != EINPROGRESS) {
    return ResultOfErrno(errno);
  }
  struct pollfd wait = {made.get(), POLLOUT, 0};
  int error = 0;
  socklen_t length = sizeof(error);
  if (::poll(&wait, 1, kMoment) > 0 &&
      ::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 &&
      error != 0) {
    return ResultOfErrno(error);
  }
  socket = std::move(made);
  return {};
}

}  // namespace

FileResult ConnectToPort(const internal::ConnectPort& request, os::Fd& socket) {
  const auto port = static_cast<uint16_t>(request.port());
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const FileResult result =
      ConnectTo(reinterpret_cast<sockaddr*>(&v4), sizeof(v4), socket);
  if (result.ok() || result.error != ECONNREFUSED) return result;
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  if (ConnectTo(reinterpret_cast<sockaddr*>(&v6), sizeof(v6), socket).ok()) {
    return {};
  }
  return result;
}

}  // namespace sandglass::sandbox
