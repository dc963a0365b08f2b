#include "server/base/listen_address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

bool IsLoopback(const std::string& host) {
  if (in_addr v4{}; ::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  return host == "[::1]";
}

bool IsAddress(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return true;
  return host.size() > 2 && host.front() == '[' && host.back() == ']' &&
         ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) ==
             1;
}

absl::Status Bad(const std::string& text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "can't listen on ", Quoted(text, 128), ": ", why,
      "; write unix:/absolute/path, 127.0.0.1:port, or an IP address and port "
      "such as 0.0.0.0:8443 or [::]:8443"));
}

}  // namespace

std::string ListenAddress::ToString() const {
  if (!unix_path.empty()) return absl::StrCat("unix:", unix_path);
  return absl::StrCat(tls ? "tls:" : "", tcp_address);
}

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    if (!absl::StartsWith(rest, "/")) return Bad(text, "the path is relative");
    if (absl::StrContains(rest, absl::string_view("\0", 1))) {
      return Bad(text, "the path has a NUL byte");
    }
    if (rest.size() >= sizeof(sockaddr_un::sun_path)) {
      return Bad(text, "a unix socket's path has at most 107 bytes");
    }
    return ListenAddress{.unix_path = std::string(rest)};
  }
  const bool asked_for_tls = absl::ConsumePrefix(&rest, "tls:");
  const std::string address(rest);
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Bad(text, "there is no port");
  uint32_t port = 0;
  if (!absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    return Bad(text, "the port is not a number from 0 to 65535");
  }
  const std::string host = address.substr(0, colon);
  if (!IsAddress(host)) return Bad(text, "the host is no numeric IP address");
  return ListenAddress{.tcp_address = address,
                       .tls = asked_for_tls || !IsLoopback(host)};
}

}  // namespace sandglass::server
