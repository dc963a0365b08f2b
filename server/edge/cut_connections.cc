#include "server/edge/cut_connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"

namespace sandglass::server {
namespace {

// Whether the descriptor is a connection that was accepted there.
bool IsOf(int fd, const std::string& path, absl::Span<const int> ports) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
    return false;
  }
  sockaddr_storage own{};
  size = sizeof(own);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return false;
  }
  switch (own.ss_family) {
    case AF_UNIX: {
      // An accepted connection has its listener's name.
      const auto& address = reinterpret_cast<const sockaddr_un&>(own);
      return !path.empty() && size > offsetof(sockaddr_un, sun_path) &&
             path == address.sun_path;
    }
    case AF_INET:
      return absl::c_linear_search(
          ports, ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port));
    case AF_INET6:
      return absl::c_linear_search(
          ports, ntohs(reinterpret_cast<const sockaddr_in6&>(own).sin6_port));
    default:
      return false;
  }
}

}  // namespace

int CutConnections(const std::string& path, absl::Span<const int> ports) {
  std::vector<int> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end;
       !error && it != end; it.increment(error)) {
    int number = -1;
    if (absl::SimpleAtoi(it->path().filename().string(), &number)) {
      numbers.push_back(number);
    }
  }
  int cut = 0;
  for (const int number : numbers) {
    if (IsOf(number, path, ports) && ::shutdown(number, SHUT_RDWR) == 0) ++cut;
  }
  return cut;
}

}  // namespace sandglass::server
