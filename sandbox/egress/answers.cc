#include "sandbox/egress/answers.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "policy/network/hosts.h"
#include "policy/network/network.h"
#include "sandbox/egress/parse/dns_message.h"

namespace sandglass::egress {
namespace {

// In seconds. The address is valid as long as the jail lives.
constexpr uint32_t kTtl = 600;

bool AllowedOnAnyPort(const policy::NetworkPolicy& policy,
                      const policy::RequestedHost& host) {
  return std::any_of(
      policy.hosts.begin(), policy.hosts.end(),
      [&](const policy::AllowedHost& rule) {
        return rule.host.Matches(host) &&
               std::any_of(rule.ports.begin(), rule.ports.end(),
                           [&](const policy::PortRange& ports) {
                             return policy::DecideHost(
                                        policy, host,
                                        static_cast<uint16_t>(ports.first))
                                 .allowed();
                           });
      });
}

}  // namespace

std::string AnswerDns(Lease& lease, NameTable& names, std::string_view query) {
  const ParsedDns parsed = ParseDnsQuery(query);
  if (parsed.kind == ParsedDns::Kind::kDrop) return "";
  if (parsed.kind == ParsedDns::Kind::kError) {
    return BuildDnsAnswer(parsed.query, parsed.code);
  }
  const absl::StatusOr<policy::RequestedHost> host =
      policy::ParseRequestedHost(parsed.query.name, policy::HostSyntax::kPlain);
  if (!host.ok() || host->address() ||
      !AllowedOnAnyPort(lease.policy(), *host)) {
    lease.RecordRefusal(
        parsed.query.name,
        absl::StrCat("the name isn't in profile \"", lease.policy().profile,
                     "\"'s network list"));
    return BuildDnsAnswer(parsed.query, DnsCode::kNameError);
  }
  if (parsed.query.type != kDnsTypeA) {
    return BuildDnsAnswer(parsed.query, DnsCode::kNoError);
  }
  const std::optional<policy::IpAddress> address =
      names.AddressOf(host->name());
  if (!address) return BuildDnsAnswer(parsed.query, DnsCode::kServerFailure);
  return BuildDnsAddresses(parsed.query, {std::string(address->bytes())}, kTtl);
}

}  // namespace sandglass::egress
