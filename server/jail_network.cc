#include "server/jail_network.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "policy/network.h"
#include "sandbox/jail_doors.h"
#include "sandbox/sandbox.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

constexpr char kOwnHosts[] = "localhost,127.0.0.1,::1";

std::string Printable(const std::string& text) {
  constexpr size_t kMostBytes = 500;
  return IsPrintableAscii(text) ? text : Quote(text, kMostBytes);
}

}  // namespace

policy::StringPairs NetworkEnvironment(const policy::Profile& profile) {
  if (profile.network == nullptr) return {};
  const std::string proxy =
      absl::StrCat("http://", sandbox::kProxyAddress, ":", sandbox::kProxyPort);
  policy::StringPairs env = {{"http_proxy", proxy},   {"https_proxy", proxy},
                             {"no_proxy", kOwnHosts}, {"HTTP_PROXY", proxy},
                             {"HTTPS_PROXY", proxy},  {"NO_PROXY", kOwnHosts}};
  const auto& hosts = profile.network->hosts;
  if (std::none_of(
          hosts.begin(), hosts.end(),
          [](const policy::AllowedHost& each) { return each.inspect; })) {
    return env;
  }
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE",
                           "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"}) {
    env.emplace_back(name, sandbox::kTrustedInJail);
  }
  env.emplace_back("NODE_EXTRA_CA_CERTS", sandbox::kAuthorityInJail);
  return env;
}

void FillNetwork(const sandbox::NetworkUse& use, v1::NetworkUse& proto) {
  proto.set_connections(use.connections);
  proto.set_refused(use.refused);
  proto.set_sent_bytes(use.bytes_up);
  proto.set_received_bytes(use.bytes_down);
  for (const sandbox::NetworkRefusal& refusal : use.refusals) {
    v1::NetworkRefusal& added = *proto.add_refusals();
    added.set_target(Printable(refusal.target));
    added.set_reason(Printable(refusal.words));
    added.set_count(refusal.count);
  }
}

}  // namespace sandglass::server
