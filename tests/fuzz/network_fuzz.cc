// Hosts of a profile and a host that a program asks for. What is taken has one
// form, is no address in disguise, and is allowed by a rule that a plain
// reading of the list finds as well; what isn't public is reached only where
// the list means it. A port, a number of patterns, each with a length before
// it, the requested host likewise, and 16 bytes of an address.
#include <arpa/inet.h>

#include <algorithm>

#include "policy/network/network.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() > end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void CheckName(const std::string& name) {
  FUZZ_CHECK(!name.empty() && name.size() <= kMaxHostName);
  FUZZ_CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"
                                    "-_.") == std::string::npos);
  FUZZ_CHECK(name.front() != '.' && name.back() != '.');
  FUZZ_CHECK(name.find("..") == std::string::npos);
  // The C library, which knows all the short forms, takes it for a name.
  in_addr v4 = {};
  FUZZ_CHECK(::inet_aton(name.c_str(), &v4) == 0);
}

void CheckAddress(const IpAddress& address) {
  const absl::StatusOr<IpAddress> again = IpAddress::Parse(address.ToString());
  FUZZ_CHECK(again.ok() && *again == address);
  FUZZ_CHECK(IpAddress::FromBytes(address.bytes()) == address);
  FUZZ_CHECK(KindOf(address) == KindOf(address.Unmapped()));
  FUZZ_CHECK(!KindName(KindOf(address)).empty());
  const std::optional<AddressRange> special = SpecialRangeOf(address);
  FUZZ_CHECK(!special || special->Contains(address));
  FUZZ_CHECK(!special || KindOf(address) != AddressKind::kPublic);
}

void CheckHost(const RequestedHost& host) {
  FUZZ_CHECK(host.name().empty() == host.address().has_value());
  const auto again = ParseRequestedHost(host.ToString(), HostSyntax::kPlain);
  FUZZ_CHECK(again.ok() && *again == host);
  if (!host.address()) return CheckName(host.name());
  CheckAddress(*host.address());
  FUZZ_CHECK(host.address()->Unmapped() == *host.address());
}

// Without the order of rules and without the code under test, as far as names
// go.
bool NameIsFor(const AllowedHost& rule, const std::string& name) {
  const std::string pattern = rule.host.ToString();
  return pattern[0] == '*' ? EndsWith(name, pattern.substr(1))
                           : name == pattern;
}

bool PortIsFor(const AllowedHost& rule, uint16_t port) {
  return std::any_of(
      rule.ports.begin(), rule.ports.end(),
      [&](const PortRange& r) { return r.first <= port && port <= r.last; });
}

void CheckPattern(const HostPattern& pattern) {
  const auto again = HostPattern::Parse(pattern.ToString());
  FUZZ_CHECK(again.ok() && *again == pattern);
  if (pattern.range()) {
    CheckAddress(pattern.range()->first());
    FUZZ_CHECK(pattern.range()->Contains(pattern.range()->first()));
    return;
  }
  CheckName(pattern.name());
  const auto host = ParseRequestedHost(pattern.name(), HostSyntax::kPlain);
  FUZZ_CHECK(host.ok());
  const bool suffix = pattern.kind() == HostPattern::Kind::kSuffix;
  FUZZ_CHECK(pattern.Matches(*host) == !suffix);
  FUZZ_CHECK(!suffix || !IsLocalName(pattern.name()));
}

// Whether some rule has a pattern within which only addresses such as this one
// are: all that may open what isn't public.
bool IsNamed(const NetworkPolicy& policy, const IpAddress& address,
             uint16_t port) {
  return std::any_of(
      policy.hosts.begin(), policy.hosts.end(), [&](const AllowedHost& rule) {
        return rule.host.range() && rule.host.range()->Contains(address) &&
               rule.host.range()->prefix() > 0 && PortIsFor(rule, port);
      });
}

void CheckResolved(const NetworkPolicy& policy, const RequestedHost& host,
                   uint16_t port, size_t rule, const IpAddress& address) {
  const NetworkDecision decision =
      DecideAddress(policy, rule, host, port, address);
  FUZZ_CHECK(!Words(policy, decision, host, port).empty());
  FUZZ_CHECK(decision.allowed() == decision.rule.has_value());
  if (!decision.allowed()) return;
  const IpAddress reached = address.Unmapped();
  FUZZ_CHECK(!host.address() || *host.address() == reached);
  const AddressKind kind = KindOf(reached);
  FUZZ_CHECK(IsDestination(kind));
  FUZZ_CHECK(kind == AddressKind::kPublic || IsNamed(policy, reached, port));
}

void CheckDecision(const NetworkPolicy& policy, const RequestedHost& host,
                   uint16_t port, const IpAddress& address) {
  const NetworkDecision decision = DecideHost(policy, host, port);
  FUZZ_CHECK(!Words(policy, decision, host, port).empty());
  FUZZ_CHECK(decision.allowed() == decision.rule.has_value());
  if (!host.address()) {
    const bool any = std::any_of(
        policy.hosts.begin(), policy.hosts.end(), [&](const AllowedHost& rule) {
          return NameIsFor(rule, host.name()) && PortIsFor(rule, port);
        });
    FUZZ_CHECK(decision.allowed() == any);
  }
  if (decision.allowed()) {
    const AllowedHost& rule = policy.hosts[*decision.rule];
    FUZZ_CHECK(rule.host.Matches(host) && PortIsFor(rule, port));
    FUZZ_CHECK(host.address() || !IsLocalName(host.name()) ||
               rule.host.kind() == HostPattern::Kind::kName);
  }
  for (size_t rule = 0; rule <= policy.hosts.size(); ++rule) {
    CheckResolved(policy, host, port, rule, address);
    if (host.address()) {
      CheckResolved(policy, host, port, rule, *host.address());
    }
  }
}

void Run(fuzz::Input input) {
  const uint16_t port = input.Short();
  NetworkPolicy policy;
  policy.profile = "fuzz";
  for (int left = input.Byte() % 8; left > 0; --left) {
    auto pattern = HostPattern::Parse(input.Text());
    if (!pattern.ok()) {
      FUZZ_CHECK(absl::IsInvalidArgument(pattern.status()));
      continue;
    }
    CheckPattern(*pattern);
    policy.hosts.push_back({.host = *std::move(pattern)});
  }
  const std::string asked = input.Text();
  const std::string rest(input.Rest());
  const IpAddress address =
      IpAddress::FromBytes(rest.substr(0, rest.size() < 16 ? 4 : 16))
          .value_or(IpAddress());
  CheckAddress(address);
  for (const HostSyntax syntax : {HostSyntax::kPlain, HostSyntax::kAuthority}) {
    const auto host = ParseRequestedHost(asked, syntax);
    if (!host.ok()) {
      FUZZ_CHECK(absl::IsInvalidArgument(host.status()));
      continue;
    }
    CheckHost(*host);
    if (Check(policy).ok()) CheckDecision(policy, *host, port, address);
  }
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({data, size});
  return 0;
}
