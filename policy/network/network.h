#ifndef SANDGLASS_POLICY_NETWORK_NETWORK_H_
#define SANDGLASS_POLICY_NETWORK_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "policy/network/address.h"
#include "policy/network/address_kind.h"
#include "policy/network/hosts.h"

namespace sandglass::policy {

// Ports from `first` to `last`, both included; 1 to 65535 once checked.
struct PortRange {
  uint32_t first = 0;
  uint32_t last = 0;

  friend bool operator==(const PortRange&, const PortRange&) = default;
};

inline constexpr uint16_t kHttpPort = 80;
inline constexpr uint16_t kHttpsPort = 443;

// A rule of a profile: hosts that its programs may reach.
struct AllowedHost {
  HostPattern host;
  std::vector<PortRange> ports = {{kHttpPort, kHttpPort},
                                  {kHttpsPort, kHttpsPort}};
  // Whether the proxy looks into TLS, as its one end.
  bool inspect = false;
  // Methods of HTTP requests (RFC 9110 section 9.1); empty: any. A rule that
  // has some and doesn't inspect is for plain HTTP on port 80: what goes
  // through a tunnel (CONNECT) can't be seen, so there must be none.
  std::vector<std::string> methods;
  // Names of secrets, whose values take the place of "${secret:NAME}" in the
  // headers of requests to the host. As with methods, what goes through a
  // tunnel can't be changed.
  std::vector<std::string> secrets;
  // Whether the host may be at an address that isn't public, as registries
  // within an organisation are. Profiles can't say so: it is for rules that the
  // daemon makes of root's configuration.
  bool any_address = false;
};

// What one jail may take of the network.
struct NetworkLimits {
  uint32_t connections_at_once = 64;
  uint64_t connections = 10'000;
  // Both directions together, what the program sends and is sent.
  uint64_t bytes = uint64_t{1} << 30;
  absl::Duration to_connect = absl::Seconds(10);  // with the name's lookup
  // For a head or a TLS hello, from its first byte or the connection's start.
  absl::Duration to_speak = absl::Seconds(20);
  absl::Duration idle = absl::Seconds(60);
};

// The hosts that a profile's programs may reach. A union: each rule adds to
// what is allowed. Where several allow the same host and port, the one with
// the narrowest pattern is the one that counts.
struct NetworkPolicy {
  std::string profile;  // its name; for messages
  std::vector<AllowedHost> hosts;
  NetworkLimits limits;
};

inline constexpr uint32_t kMostPort = 65535;
inline constexpr size_t kMostHosts = 1000;
inline constexpr size_t kMostPortRanges = 64;  // of a host
inline constexpr size_t kMostMethods = 32;     // of a host
inline constexpr size_t kMostSecrets = 32;     // of a host

// Bounds of NetworkLimits; of each the least is 1, and of times 1 ms, in which
// they are told to the proxy.
inline constexpr uint32_t kMostConnectionsAtOnce = 1024;
inline constexpr uint64_t kMostConnections = 1'000'000'000;
inline constexpr uint64_t kMostNetworkBytes = uint64_t{1} << 40;
inline constexpr absl::Duration kShortestNetworkTime = absl::Milliseconds(1);
inline constexpr absl::Duration kLongestNetworkTime = absl::Hours(1);

// INVALID_ARGUMENT, with a JSON pointer ("/network/hosts/3/ports/0"), for what
// can't be meant: nothing in a list, more than the bounds above, ports that
// aren't or overlap, methods that aren't, are there twice or can't be seen,
// names of secrets likewise, a look into TLS where there is none, the same host
// and port twice, addresses that no connection can be made to, limits that are
// out of bounds.
absl::Status Check(const NetworkPolicy& policy);

enum class NetworkRefusal : uint8_t {
  kNone,         // it is allowed
  kHost,         // no rule is for the host
  kPort,         // rules are for the host, none for the port
  kLocalName,    // no rule names it, and names of this kind need that
  kAddressKind,  // it is, or resolves to, an address that isn't public
};

struct NetworkDecision {
  NetworkRefusal refusal = NetworkRefusal::kHost;
  // When it is allowed: the rule that allows it, an index into the policy's
  // hosts. Absent otherwise.
  std::optional<size_t> rule;
  // When it is refused: a rule that comes near, for the words.
  std::optional<size_t> nearest;
  // kAddressKind: the address.
  std::optional<IpAddress> address;

  bool allowed() const { return refusal == NetworkRefusal::kNone; }

  friend bool operator==(const NetworkDecision&,
                         const NetworkDecision&) = default;
};

// Whether a program may ask for the host and port, for a policy that passed
// Check. A host that is a name still has to be resolved, and each address that
// it resolves to decided with DecideAddress before it is connected to.
//
// Addresses that aren't public need a rule that means them: one with the
// address itself, or with a range that is within the range of their kind (see
// SpecialRangeOf), so that "10.1.0.0/16" allows 10.1.2.3 and "0.0.0.0/0"
// doesn't. Of cloud metadata only the address itself will do; unspecified,
// multicast and broadcast ones are never allowed.
NetworkDecision DecideHost(const NetworkPolicy& policy,
                           const RequestedHost& host, uint16_t port);

// Whether a connection may be made to `address`, to which `host` resolved.
// `rule` is the rule that DecideHost told for the same host and port; the
// decision has it again. Public addresses are allowed, others where a rule
// means them (see DecideHost) with this port. Of a host that is an address only
// that one is allowed. Connect to the address that was decided, never to the
// name again: it may resolve to another by then.
NetworkDecision DecideAddress(const NetworkPolicy& policy, size_t rule,
                              const RequestedHost& host, uint16_t port,
                              const IpAddress& address);

// Whether the rule allows HTTP requests of the method, which is case-sensitive.
bool AllowsMethod(const AllowedHost& rule, std::string_view method);

// One line for people, without a full stop:
//   host "a.b" isn't in profile "x"'s network list; it has 3 hosts
// Of the same policy, host and port as the decision.
std::string Words(const NetworkPolicy& policy, const NetworkDecision& decision,
                  const RequestedHost& host, uint16_t port);

// "port 443", "ports 80 and 443", "ports 80, 443 and 8000 to 8999".
std::string PortWords(const std::vector<PortRange>& ports);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_NETWORK_H_
