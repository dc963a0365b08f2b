#include "client/mcp/http/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

absl::string_view WithoutBrackets(absl::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  return host;
}

bool IsAddress(int family, const std::string& host) {
  in6_addr address = {};
  return inet_pton(family, host.c_str(), &address) == 1;
}

}  // namespace

bool IsLoopbackHost(absl::string_view host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  const std::string bare(WithoutBrackets(host));
  in_addr v4 = {};
  if (inet_pton(AF_INET, bare.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  in6_addr v6 = {};
  return inet_pton(AF_INET6, bare.c_str(), &v6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", VisibleText(text),
                     "' is no address to listen on: write 127.0.0.1:PORT"));
  }
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  const std::string bare(WithoutBrackets(host));
  // An IPv6 address has to be in brackets, and no other may.
  if (!IsAddress(AF_INET, host) &&
      (bare == host || !IsAddress(AF_INET6, bare))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", VisibleText(host),
        "' is no IP address; names are not looked up, but for localhost"));
  }
  return ListenAddress{.host = bare,
                       .port = static_cast<uint16_t>(port),
                       .loopback = IsLoopbackHost(bare)};
}

}  // namespace sandglass::client
