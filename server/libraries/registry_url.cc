#include "server/libraries/registry_url.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "policy/network/hosts.h"
#include "policy/network/network.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr size_t kLongestUrl = 2000;

bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("/-._~%+:!").find(c) != std::string_view::npos;
}

// Takes the port off the end of `authority` if it has one; otherwise `port`
// stays.
absl::Status ParsePort(std::string_view& authority, uint16_t& port) {
  const size_t bracket = authority.find(']');
  const size_t colon =
      authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return absl::OkStatus();
  uint32_t number = 0;
  const std::string_view digits = authority.substr(colon + 1);
  if (!std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(AbslView(digits), &number) || number < 1 ||
      number > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(digits), " is no port of a registry's address"));
  }
  port = static_cast<uint16_t>(number);
  authority = authority.substr(0, colon);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RegistryUrl> ParseRegistryUrl(std::string_view text) {
  absl::string_view rest = AbslView(text);
  RegistryUrl url;
  if (text.size() > kLongestUrl) {
    return absl::InvalidArgumentError("the registry's address is too long");
  }
  // An '@' is refused wherever it is, because tools differ in where they see
  // the host's name begin. The address isn't quoted, since it may hold a
  // password.
  if (text.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "a registry's address can't have a user and a password: whatever runs "
        "while libraries are installed could read them");
  }
  if (text.find_first_of("?#") != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "a registry's address can't have a query or a fragment");
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
  const auto bad = std::find_if_not(path.begin(), path.end(), IsPathCharacter);
  if (bad != path.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a registry's address can't have ",
                     Quoted(std::string_view(&*bad, 1)), " in its path"));
  }
  if (absl::Status port = ParsePort(authority, url.port); !port.ok()) {
    return port;
  }
  if (authority.size() > 2 && authority.front() == '[') {
    authority = authority.substr(1, authority.size() - 2);
  }
  const auto host = policy::HostPattern::Parse(authority);
  if (!host.ok()) return host.status();
  if (host->kind() == policy::HostPattern::Kind::kSuffix) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " names no single host"));
  }
  url.text = std::string(text);
  url.host = std::string(authority);
  return url;
}

}  // namespace sandglass::server
