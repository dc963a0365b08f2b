#include "server/job/jail_network.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/network/network.h"
#include "sandbox/wire/egress_ports.h"
#include "sandbox/yard/java_key_store.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr char kOwnHosts[] = "localhost,127.0.0.1,::1";

std::string Printable(const std::string& text) {
  constexpr size_t kMaxBytes = 500;
  return IsPrintableAscii(text) ? text : Quoted(text, kMaxBytes);
}

bool Inspects(const policy::NetworkPolicy& network) {
  return std::ranges::any_of(network.hosts, &policy::AllowedHost::inspect);
}

// Tools that try again, some of them for minutes, are to fail at once.
policy::StringPairs WithoutNetwork() {
  return {{"npm_config_fetch_retries", "0"},
          {"PIP_RETRIES", "0"},
          {"UV_HTTP_RETRIES", "0"},
          {"CARGO_NET_RETRY", "0"}};
}

}  // namespace

policy::StringPairs NetworkEnvironment(const policy::Profile& profile) {
  if (profile.network == nullptr) return WithoutNetwork();
  const std::string proxy =
      absl::StrCat("http://", sandbox::kProxyAddress, ":", sandbox::kProxyPort);
  policy::StringPairs env = {{"http_proxy", proxy},   {"https_proxy", proxy},
                             {"no_proxy", kOwnHosts}, {"HTTP_PROXY", proxy},
                             {"HTTPS_PROXY", proxy},  {"NO_PROXY", kOwnHosts}};
  // Maven's launcher passes this to its JVM without printing anything about it.
  env.emplace_back("MAVEN_OPTS", absl::StrJoin(JvmNetwork(profile), " "));
  if (!Inspects(*profile.network)) return env;
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE",
                           "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
                           // Overrides what the image's npmrc may say.
                           "NPM_CONFIG_CAFILE"}) {
    env.emplace_back(name, sandbox::kTrustedInJail);
  }
  env.emplace_back("NODE_EXTRA_CA_CERTS", sandbox::kAuthorityInJail);
  return env;
}

std::vector<std::string> JvmNetwork(const policy::Profile& profile) {
  if (profile.network == nullptr) return {};
  // The default of http.nonProxyHosts, the hosts that are reached without the
  // proxy, is right as it is: the loopback.
  std::vector<std::string> words;
  for (const char* scheme : {"http", "https"}) {
    words.push_back(
        absl::StrCat("-D", scheme, ".proxyHost=", sandbox::kProxyAddress));
    words.push_back(
        absl::StrCat("-D", scheme, ".proxyPort=", sandbox::kProxyPort));
  }
  if (Inspects(*profile.network)) {
    words.push_back(
        absl::StrCat("-Djavax.net.ssl.trustStore=", sandbox::kJvmTrustInJail));
    words.emplace_back("-Djavax.net.ssl.trustStoreType=JKS");
  }
  return words;
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
