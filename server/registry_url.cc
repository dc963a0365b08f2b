#include "server/registry_url.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "policy/hosts.h"
#include "policy/network.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

constexpr size_t kLongestUrl = 2000;

bool IsPathCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') ||
         std::string_view("/-._~%+:@!").find(c) != std::string_view::npos;
}

}  // namespace

absl::StatusOr<RegistryUrl> ParseRegistryUrl(std::string_view text) {
  absl::string_view rest = AbslView(text);
  RegistryUrl url;
  if (text.size() > kLongestUrl) {
    return absl::InvalidArgumentError("the registry's address is too long");
  }
  url.port = policy::kHttpsPort;
  if (absl::ConsumePrefix(&rest, "http://")) {
    url.port = policy::kHttpPort;
  } else if (!absl::ConsumePrefix(&rest, "https://")) {
    return absl::InvalidArgumentError(
        "a registry's address begins with \"https://\" or \"http://\"");
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = StdView(rest.substr(0, slash));
  const std::string_view path = StdView(rest.substr(slash));
  if (authority.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "a registry's address can't have a user and a password: whatever runs "
        "while libraries are installed could read them");
  }
  if (!std::all_of(path.begin(), path.end(), IsPathCharacter)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quote(text), " has characters that a registry's address can't have"));
  }
  const size_t bracket = authority.find(']');
  const size_t colon =
      authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    uint32_t port = 0;
    if (!absl::SimpleAtoi(AbslView(authority.substr(colon + 1)), &port) ||
        port < 1 || port > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quote(text), " has no port that is one"));
    }
    url.port = static_cast<uint16_t>(port);
    authority = authority.substr(0, colon);
  }
  if (authority.size() > 2 && authority.front() == '[') {
    authority = authority.substr(1, authority.size() - 2);
  }
  const auto host = policy::HostPattern::Parse(authority);
  if (!host.ok()) return host.status();
  if (host->kind() == policy::HostPattern::Kind::kSuffix) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quote(text), " names no single host"));
  }
  url.text = std::string(text);
  url.host = std::string(authority);
  return url;
}

}  // namespace sandglass::server
