#include "server/base/tcp_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/base/listen_address.h"
#include "server/base/strings.h"

namespace sandglass::server {

namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Null when it is no address.
AddressList ParseTcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (colon == std::string::npos ||
      ::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints,
                    &found) != 0) {
    found = nullptr;
  }
  return {found, ::freeaddrinfo};
}

// Both have the same family, IPv4 or IPv6.
bool SameHost(const sockaddr& a, const sockaddr& b) {
  if (a.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  }
  return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr,
                     sizeof(in6_addr)) == 0;
}

}  // namespace

absl::StatusOr<os::Fd> ListenOnTcp(const std::string& setting,
                                   const std::string& address, Ipv4 ipv4) {
  const AddressList found = ParseTcp(address);
  if (found == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(setting, ": ", address, " is no address"));
  }
  os::Fd socket(::socket(found->ai_family,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (ipv4 == Ipv4::kNot && found->ai_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  // Addresses that are only waiting for late packets don't count as taken.
  if (socket.valid() &&
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ==
          0 &&
      ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
      ::listen(socket.get(), kListenBacklog) == 0) {
    return socket;
  }
  const int error = errno;
  return absl::UnavailableError(absl::StrCat(
      setting, ": can't listen on ", address, ": ", ErrorText(error),
      error == EADDRINUSE ? "; another program has it, see ss -ltnp" : ""));
}

bool ListensOnTcp(const os::Fd& socket, const std::string& address) {
  const AddressList wanted = ParseTcp(address);
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  if (wanted == nullptr ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) !=
          0 ||
      own.ss_family != wanted->ai_family ||
      !SameHost(reinterpret_cast<const sockaddr&>(own), *wanted->ai_addr)) {
    return false;
  }
  // The port of an IPv6 address is at the same place.
  const in_port_t port =
      reinterpret_cast<const sockaddr_in*>(wanted->ai_addr)->sin_port;
  return port == 0 || ntohs(port) == TcpPortOf(socket);
}

int TcpPortOf(const os::Fd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address),
                    &size) != 0) {
    return 0;
  }
  // The port of an IPv6 address is at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace sandglass::server
