#include "sandbox/wire/network_proto.h"

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "policy/network/hosts.h"

namespace sandglass::sandbox {
namespace {

uint32_t Milliseconds(absl::Duration duration) {
  return static_cast<uint32_t>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

internal::NetworkRules ToProto(const policy::NetworkPolicy& policy) {
  internal::NetworkRules rules;
  rules.set_profile(policy.profile);
  for (const policy::AllowedHost& host : policy.hosts) {
    internal::AllowedHost& added = *rules.add_hosts();
    added.set_host(host.host.ToString());
    for (const policy::PortRange& range : host.ports) {
      internal::PortRange& ports = *added.add_ports();
      ports.set_first(range.first);
      ports.set_last(range.last);
    }
    added.set_inspect(host.inspect);
    added.mutable_methods()->Assign(host.methods.begin(), host.methods.end());
    added.mutable_secrets()->Assign(host.secrets.begin(), host.secrets.end());
    added.set_any_address(host.any_address);
  }
  const policy::NetworkLimits& limits = policy.limits;
  rules.set_connections_at_once(limits.connections_at_once);
  rules.set_connections(limits.connections);
  rules.set_bytes(limits.bytes);
  rules.set_to_connect_ms(Milliseconds(limits.to_connect));
  rules.set_to_speak_ms(Milliseconds(limits.to_speak));
  rules.set_idle_ms(Milliseconds(limits.idle));
  return rules;
}

absl::StatusOr<policy::NetworkPolicy> FromProto(
    const internal::NetworkRules& rules) {
  policy::NetworkPolicy policy;
  policy.profile = rules.profile();
  for (const internal::AllowedHost& host : rules.hosts()) {
    absl::StatusOr<policy::HostPattern> pattern =
        policy::HostPattern::Parse(host.host());
    if (!pattern.ok()) return pattern.status();
    policy::AllowedHost added{
        .host = *std::move(pattern),
        .ports = {},
        .inspect = host.inspect(),
        .methods = {host.methods().begin(), host.methods().end()},
        .secrets = {host.secrets().begin(), host.secrets().end()},
        .any_address = host.any_address()};
    for (const internal::PortRange& range : host.ports()) {
      added.ports.push_back({range.first(), range.last()});
    }
    policy.hosts.push_back(std::move(added));
  }
  policy.limits = {.connections_at_once = rules.connections_at_once(),
                   .connections = rules.connections(),
                   .bytes = rules.bytes(),
                   .to_connect = absl::Milliseconds(rules.to_connect_ms()),
                   .to_speak = absl::Milliseconds(rules.to_speak_ms()),
                   .idle = absl::Milliseconds(rules.idle_ms())};
  if (absl::Status good = policy::Check(policy); !good.ok()) return good;
  return policy;
}

}  // namespace sandglass::sandbox
