#include "client/connection/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sandglass::client {
namespace {

absl::Status Bad(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no address: ", why));
}

absl::StatusOr<Address> ParseUnix(absl::string_view text,
                                  absl::string_view path) {
  // gRPC's own form "unix:///path" means the same.
  if (path.substr(0, 3) == "///") path.remove_prefix(2);
  Address address;
  address.text = std::string(text);
  address.unix_path = std::string(path);
  sockaddr_un socket = {};
  socket.sun_family = AF_UNIX;
  if (path.empty()) return Bad(text, "the path after 'unix:' is empty");
  if (absl::StrContains(path, '\0')) return Bad(text, "it has a NUL");
  if (path.size() >= sizeof(socket.sun_path)) {
    return Bad(text, absl::StrCat("the path has ", path.size(),
                                  " bytes; the kernel takes at most ",
                                  sizeof(socket.sun_path) - 1));
  }
  std::memcpy(socket.sun_path, path.data(), path.size());
  std::memcpy(&address.socket_address, &socket, sizeof(socket));
  address.socket_address_length = sizeof(socket);
  return address;
}

}  // namespace

std::string OwnStateDirectory() {
  if (geteuid() == 0) return "/run/sandglass";
  // Nothing in this process changes its environment.
  // NOLINTBEGIN(concurrency-mt-unsafe)
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const char* home = std::getenv("HOME");
  // NOLINTEND(concurrency-mt-unsafe)
  if (runtime != nullptr && *runtime == '/') {
    return absl::StrCat(runtime, "/sandglass");
  }
  if (home == nullptr || *home != '/') return "";
  return absl::StrCat(home, "/.local/state/sandglass");
}

std::string UsualAddress() {
  const std::string own = OwnStateDirectory();
  const std::string socket = absl::StrCat(own, "/sandglass.sock");
  return !own.empty() && access(socket.c_str(), F_OK) == 0
             ? absl::StrCat("unix:", socket)
             : std::string(kDefaultAddress);
}

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) return ParseUnix(text, rest);

  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port == 0 ||
      port > 65535) {
    return Bad(text,
               "write unix:/path/to/socket, or 127.0.0.1:PORT with a port "
               "from 1 to 65535");
  }
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  Address address;
  address.text = std::string(text);
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  bool loopback = false;
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    loopback = (ntohl(v4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    std::memcpy(&address.socket_address, &v4, sizeof(v4));
    address.socket_address_length = sizeof(v4);
  } else if (host.size() > 2 && host.front() == '[' && host.back() == ']' &&
             inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(),
                       &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
    loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    std::memcpy(&address.socket_address, &v6, sizeof(v6));
    address.socket_address_length = sizeof(v6);
  }
  if (!loopback) {
    return Bad(text, absl::StrCat("'", host,
                                  "' is not a loopback address (127.0.0.1, "
                                  "[::1] or localhost), and there is no TLS "
                                  "to go further"));
  }
  return address;
}

}  // namespace sandglass::client
