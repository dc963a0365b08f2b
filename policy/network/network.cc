#include "policy/network/network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

using Refusal = NetworkRefusal;

bool HasPort(const AllowedHost& rule, uint16_t port) {
  return std::any_of(rule.ports.begin(), rule.ports.end(),
                     [&](const PortRange& range) {
                       return range.first <= port && port <= range.last;
                     });
}

// Of the rules for which `fits` is true, the one with the narrowest pattern; of
// equal ones the first.
template <typename Fits>
std::optional<size_t> Narrowest(const NetworkPolicy& policy, const Fits& fits) {
  std::optional<size_t> best;
  for (size_t i = 0; i < policy.hosts.size(); ++i) {
    const AllowedHost& rule = policy.hosts[i];
    if (fits(rule) && (!best || rule.host.Narrowness() >
                                    policy.hosts[*best].host.Narrowness())) {
      best = i;
    }
  }
  return best;
}

NetworkDecision Allowed(size_t rule) {
  return {.refusal = Refusal::kNone, .rule = rule};
}

NetworkDecision Refused(Refusal refusal, std::optional<size_t> nearest) {
  return {.refusal = refusal, .nearest = nearest};
}

// Whether the pattern means this address (which is unmapped), rather than being
// a wide range that happens to contain it.
bool Means(const HostPattern& pattern, const IpAddress& address) {
  if (!pattern.range() || !pattern.range()->Contains(address)) return false;
  const AddressKind kind = KindOf(address);
  if (kind == AddressKind::kPublic) return true;
  if (!IsDestination(kind)) return false;
  if (pattern.range()->is_one_address()) return true;
  const std::optional<AddressRange> special = SpecialRangeOf(address);
  // Cloud metadata needs the address itself.
  return special && pattern.range()->prefix() >= special->prefix();
}

std::optional<size_t> RuleThatMeans(const NetworkPolicy& policy,
                                    const IpAddress& address, uint16_t port) {
  return Narrowest(policy, [&](const AllowedHost& rule) {
    return Means(rule.host, address) && HasPort(rule, port);
  });
}

NetworkDecision RefusedKind(const IpAddress& address,
                            std::optional<size_t> nearest) {
  NetworkDecision decision = Refused(Refusal::kAddressKind, nearest);
  decision.address = address;
  return decision;
}

NetworkDecision DecideLiteral(const NetworkPolicy& policy,
                              const RequestedHost& host, uint16_t port) {
  const IpAddress& address = *host.address();
  if (const auto rule = RuleThatMeans(policy, address, port)) {
    return Allowed(*rule);
  }
  const auto meant = Narrowest(policy, [&](const AllowedHost& rule) {
    return Means(rule.host, address);
  });
  if (meant) return Refused(Refusal::kPort, meant);
  const auto around = Narrowest(
      policy, [&](const AllowedHost& rule) { return rule.host.Matches(host); });
  if (KindOf(address) != AddressKind::kPublic) {
    return RefusedKind(address, around);
  }
  return Refused(Refusal::kHost, around);
}

// A rule that somebody may have expected to cover the name: one with the
// suffix's own name, or with a name that this one is below.
std::optional<size_t> Relative(const NetworkPolicy& policy,
                               const std::string& name) {
  return Narrowest(policy, [&](const AllowedHost& rule) {
    const std::string& other = rule.host.name();
    if (rule.host.kind() == HostPattern::Kind::kSuffix) return other == name;
    return rule.host.kind() == HostPattern::Kind::kName &&
           name == absl::StrCat("www.", other);
  });
}

std::string PortName(const PortRange& range) {
  return range.first == range.last
             ? absl::StrCat(range.first)
             : absl::StrCat(range.first, " to ", range.last);
}

std::string HostName(const RequestedHost& host) {
  return host.address() ? absl::StrCat("address ", host.ToString())
                        : absl::StrCat("host ", Quoted(host.name()));
}

std::string ListOf(const NetworkPolicy& policy) {
  return absl::StrCat("profile ", Quoted(policy.profile), "'s network list");
}

std::string PatternOf(const NetworkPolicy& policy, size_t rule) {
  return Quoted(policy.hosts[rule].host.ToString());
}

std::string RefusedHostWords(const NetworkPolicy& policy,
                             const NetworkDecision& decision,
                             const RequestedHost& host) {
  const std::string refused =
      absl::StrCat(HostName(host), " isn't in ", ListOf(policy), "; ");
  if (decision.nearest) {
    const bool suffix = policy.hosts[*decision.nearest].host.kind() ==
                        HostPattern::Kind::kSuffix;
    return absl::StrCat(refused, PatternOf(policy, *decision.nearest),
                        suffix ? " there stands for names below it alone"
                               : " there stands for itself alone");
  }
  const size_t count = policy.hosts.size();
  return absl::StrCat(refused, "it has ", count,
                      count == 1 ? " host" : " hosts");
}

std::string KindWords(const NetworkPolicy& policy,
                      const NetworkDecision& decision,
                      const RequestedHost& host, uint16_t port) {
  const IpAddress& address = *decision.address;
  const AddressKind kind = KindOf(address);
  const std::string refused = absl::StrCat(
      host.address() ? absl::StrCat(address.ToString(), " is ")
                     : absl::StrCat(HostName(host), " resolves to ",
                                    address.ToString(), ", "),
      kind == AddressKind::kUnspecified ? "an " : "a ",
      AbslView(KindName(kind)), " address, which ");
  if (!IsDestination(kind)) {
    return absl::StrCat(refused, "no profile can allow");
  }
  const std::string_view by_itself =
      kind == AddressKind::kMetadata ? " as an address of its own" : "";
  // A range that is wider than that of the kind doesn't allow such an address.
  const std::string around =
      decision.nearest
          ? absl::StrCat("; ", PatternOf(policy, *decision.nearest),
                         " there doesn't stand for such addresses")
          : "";
  return absl::StrCat(refused, ListOf(policy), " doesn't name",
                      AbslView(by_itself), " with port ", port, around);
}

}  // namespace

NetworkDecision DecideHost(const NetworkPolicy& policy,
                           const RequestedHost& host, uint16_t port) {
  if (host.address()) return DecideLiteral(policy, host, port);
  const auto matches = [&](const AllowedHost& rule) {
    return rule.host.Matches(host);
  };
  const auto rule = Narrowest(policy, [&](const AllowedHost& each) {
    return matches(each) && HasPort(each, port);
  });
  if (rule) return Allowed(*rule);
  if (const auto nearest = Narrowest(policy, matches)) {
    return Refused(Refusal::kPort, nearest);
  }
  if (IsLocalName(host.name())) return Refused(Refusal::kLocalName, {});
  return Refused(Refusal::kHost, Relative(policy, host.name()));
}

NetworkDecision DecideAddress(const NetworkPolicy& policy, size_t rule,
                              const RequestedHost& host, uint16_t port,
                              const IpAddress& address) {
  if (rule >= policy.hosts.size() || !policy.hosts[rule].host.Matches(host)) {
    return Refused(Refusal::kHost, {});
  }
  if (!HasPort(policy.hosts[rule], port)) return Refused(Refusal::kPort, rule);
  const IpAddress unmapped = address.Unmapped();
  if (host.address()) {
    if (unmapped != *host.address()) return Refused(Refusal::kHost, {});
    return DecideLiteral(policy, host, port);
  }
  const AddressKind kind = KindOf(unmapped);
  if (kind == AddressKind::kPublic ||
      (policy.hosts[rule].any_address && IsDestination(kind) &&
       kind != AddressKind::kMetadata) ||
      RuleThatMeans(policy, unmapped, port)) {
    return Allowed(rule);
  }
  return RefusedKind(unmapped, {});
}

bool AllowsMethod(const AllowedHost& rule, std::string_view method) {
  return rule.methods.empty() ||
         std::find(rule.methods.begin(), rule.methods.end(), method) !=
             rule.methods.end();
}

std::string PortWords(const std::vector<PortRange>& ports) {
  std::string words =
      ports.size() == 1 && ports[0].first == ports[0].last ? "port " : "ports ";
  for (size_t i = 0; i < ports.size(); ++i) {
    const char* const between = i == 0                  ? ""
                                : i + 1 == ports.size() ? " and "
                                                        : ", ";
    absl::StrAppend(&words, between, PortName(ports[i]));
  }
  return words;
}

std::string Words(const NetworkPolicy& policy, const NetworkDecision& decision,
                  const RequestedHost& host, uint16_t port) {
  switch (decision.refusal) {
    case Refusal::kNone:
      return absl::StrCat(HostName(host), " is allowed with port ", port,
                          " by ", PatternOf(policy, *decision.rule), " of ",
                          ListOf(policy));
    case Refusal::kHost:
      return RefusedHostWords(policy, decision, host);
    case Refusal::kPort:
      return absl::StrCat(
          "port ", port, " of ", HostName(host), " isn't in ", ListOf(policy),
          "; ", PatternOf(policy, *decision.nearest), " there is for ",
          PortWords(policy.hosts[*decision.nearest].ports));
    case Refusal::kLocalName:
      return absl::StrCat(HostName(host),
                          " is a local name, and those need to be named one by "
                          "one in ",
                          ListOf(policy));
    case Refusal::kAddressKind:
      return KindWords(policy, decision, host, port);
  }
  return "";
}

}  // namespace sandglass::policy
