#include "server/daemon/egress_config.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "policy/network/address.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

bool IsPort(std::string_view text) {
  uint32_t port = 0;
  return absl::SimpleAtoi(AbslView(text), &port) && port >= 1 && port <= 65535;
}

bool IsNameServer(std::string_view text) {
  if (policy::IpAddress::Parse(text).ok()) return true;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !IsPort(text.substr(colon + 1))) {
    return false;
  }
  std::string_view host = text.substr(0, colon);
  const bool bracketed =
      host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = policy::IpAddress::Parse(host);
  return address.ok() && address->is_v4() != bracketed;
}

}  // namespace

void ReadEgress(policy::JsonObject& root, EgressConfig& egress) {
  std::optional<policy::JsonObject> object = root.OptionalObject("egress");
  if (!object.has_value()) return;
  egress.path = object->String("path", egress.path);
  egress.secrets_dir = object->String("secrets_dir", egress.secrets_dir);
  egress.ca_file = object->String("ca_file", egress.ca_file);
  for (const auto& [key, path] : {std::pair("path", egress.path),
                                  std::pair("secrets_dir", egress.secrets_dir),
                                  std::pair("ca_file", egress.ca_file)}) {
    const bool may_be_empty = std::string_view(key) != "path";
    if (path.empty() ? may_be_empty : path.front() == '/') continue;
    object->AddError(key,
                     absl::StrCat(Quoted(path), " is not an absolute path"));
  }
  egress.resolvers = object->Strings("resolvers", egress.resolvers);
  for (size_t i = 0; i < egress.resolvers.size(); ++i) {
    if (IsNameServer(egress.resolvers[i])) continue;
    object->AddErrorAt(absl::StrCat("/egress/resolvers/", i),
                       absl::StrCat(Quoted(egress.resolvers[i]),
                                    " is no name server; write \"192.0.2.53\", "
                                    "\"192.0.2.53:5353\" or "
                                    "\"[2001:db8::53]:5353\""));
  }
}

nlohmann::ordered_json EgressToJson(const EgressConfig& egress) {
  return {{"path", egress.path},
          {"resolvers", egress.resolvers},
          {"secrets_dir", egress.secrets_dir},
          {"ca_file", egress.ca_file}};
}

}  // namespace sandglass::server
