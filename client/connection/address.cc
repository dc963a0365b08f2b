#include "client/connection/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
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

bool IsHostName(absl::string_view host) {
  return !host.empty() && host.size() <= 253 && host.front() != '-' &&
         host.front() != '.' &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
         });
}

// Takes the brackets off the host, finds out whether it is this machine, and
// sets `tls` where it isn't.
absl::Status ReadHost(Address& address) {
  std::string& host = address.host;
  const std::string number = host == "localhost" ? "127.0.0.1" : host;
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  bool loopback = false;
  if (inet_pton(AF_INET, number.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    loopback = (ntohl(v4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    std::memcpy(&address.socket_address, &v4, sizeof(v4));
    address.socket_address_length = sizeof(v4);
  } else if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) {
      return absl::InvalidArgumentError(
          "what stands in brackets is no IPv6 address");
    }
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    std::memcpy(&address.socket_address, &v6, sizeof(v6));
    address.socket_address_length = sizeof(v6);
  } else if (absl::StrContains(host, ':')) {
    return absl::InvalidArgumentError(
        "an IPv6 address is written in brackets, as in [::1]:8443");
  } else if (!IsHostName(host)) {
    return absl::InvalidArgumentError(
        "its host is neither a name nor an IP address");
  }
  if (!loopback) address.tls = true;
  return absl::OkStatus();
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

std::string Address::HostAndPort() const {
  const bool v6 = absl::StrContains(host, ':');
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) return ParseUnix(text, rest);
  Address address;
  address.text = std::string(text);
  if (absl::ConsumePrefix(&rest, "https://")) {
    address.tls = true;
    absl::ConsumeSuffix(&rest, "/");
  } else {
    // gRPC's own form, for names and numbers alike.
    address.tls = absl::ConsumePrefix(&rest, "dns:///");
  }
  const size_t colon = rest.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(rest.substr(colon + 1), &port) || port == 0 ||
      port > 65535) {
    return Bad(text,
               "write unix:/path/to/socket, 127.0.0.1:PORT, or HOST:PORT of a "
               "daemon that is reached by TLS, with a port from 1 to 65535");
  }
  address.port = static_cast<uint16_t>(port);
  address.host = std::string(rest.substr(0, colon));
  const absl::Status host = ReadHost(address);
  return host.ok() ? absl::StatusOr<Address>(std::move(address))
                   : Bad(text, host.message());
}

}  // namespace sandglass::client
