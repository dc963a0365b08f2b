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

// Ports from `first` to `last`, both included; within 1 to 65535 after Check.
struct PortRange {
  uint32_t first = 0;
  uint32_t last = 0;

  friend bool operator==(const PortRange&, const PortRange&) = default;
};

inline constexpr uint16_t kHttpPort = 80;
inline constexpr uint16_t kHttpsPort = 443;

// A rule of a profile: the hosts that its programs may connect to.
struct AllowedHost {
  HostPattern host;
  std::vector<PortRange> ports = {{kHttpPort, kHttpPort},
                                  {kHttpsPort, kHttpsPort}};
  // Whether the proxy decrypts TLS, as one of its ends.
  bool inspect = false;
  // Methods of HTTP requests (RFC 9110 section 9.1); empty: any. A rule that
  // has some and doesn't inspect is for plain HTTP on port 80: the proxy can't
  // see what goes through a tunnel (CONNECT), so such a rule allows no tunnels.
  std::vector<std::string> methods;
  // Names of secrets whose values replace "${secret:NAME}" in the headers of
  // requests to the host. As with methods, this isn't possible in a tunnel.
  std::vector<std::string> secrets;
  // Whether the host may be at an address that isn't public, like a registry
  // inside of an organisation. Profiles can't say so: it is for rules that the
  // daemon makes from root's configuration.
  bool any_address = false;
};

// What one jail may use of the network.
struct NetworkLimits {
  uint32_t connections_at_once = 64;
  uint64_t connections = 10'000;
  // Sent and received bytes together.
  uint64_t bytes = uint64_t{1} << 30;
  absl::Duration to_connect = absl::Seconds(10);  // with the name's lookup
  // For sending a head or a TLS hello, from its first byte or the start of the
  // connection.
  absl::Duration to_speak = absl::Seconds(20);
  absl::Duration idle = absl::Seconds(60);
};

// The hosts that a profile's programs may connect to. Each rule adds to what is
// allowed. If several rules allow the same host and port, the one with the
// narrowest pattern applies.
struct NetworkPolicy {
  std::string profile;  // the profile's name, for messages
  std::vector<AllowedHost> hosts;
  NetworkLimits limits;
};

inline constexpr uint32_t kMaxPort = 65535;
inline constexpr size_t kMaxHosts = 1000;
inline constexpr size_t kMaxPortRanges = 64;  // of a host
inline constexpr size_t kMaxMethods = 32;     // of a host
inline constexpr size_t kMaxSecrets = 32;     // of a host

// The highest values of NetworkLimits. The lowest is 1 for each, and 1 ms for
// times, because they are sent to the proxy in milliseconds.
inline constexpr uint32_t kMaxConnectionsAtOnce = 1024;
inline constexpr uint64_t kMaxConnections = 1'000'000'000;
inline constexpr uint64_t kMaxNetworkBytes = uint64_t{1} << 40;
inline constexpr absl::Duration kShortestNetworkTime = absl::Milliseconds(1);
inline constexpr absl::Duration kLongestNetworkTime = absl::Hours(1);

// INVALID_ARGUMENT, with a JSON pointer ("/network/hosts/3/ports/0"), for a
// policy that can't be intended: empty lists, more than the bounds above, ports
// that are invalid or overlap, methods that are invalid, repeated or can't be
// seen by the proxy, names of secrets for which the same holds, inspection
// where there is no TLS, the same host and port twice, addresses to which no
// connection is possible, limits out of bounds.
absl::Status Check(const NetworkPolicy& policy);

enum class NetworkRefusal : uint8_t {
  kNone,         // the connection is allowed
  kHost,         // no rule has the host
  kPort,         // rules have the host, but none has the port
  kLocalName,    // a local name, which no rule names itself
  kAddressKind,  // an address that isn't public, or it resolves to one
};

struct NetworkDecision {
  NetworkRefusal refusal = NetworkRefusal::kHost;
  // The rule that allows it, as an index into the policy's hosts. nullopt when
  // it is refused.
  std::optional<size_t> rule;
  // When it is refused: a rule that comes close, for the message.
  std::optional<size_t> nearest;
  // With kAddressKind: the address.
  std::optional<IpAddress> address;

  bool allowed() const { return refusal == NetworkRefusal::kNone; }

  friend bool operator==(const NetworkDecision&,
                         const NetworkDecision&) = default;
};

// Whether a program may connect to the host and port, for a policy that has
// passed Check. If the host is a name, it still has to be resolved, and
// DecideAddress has to allow each address before a connection to it is made.
//
// An address that isn't public needs a rule that means it: one with the address
// itself, or with a range that is within the range of the address's kind (see
// SpecialRangeOf), so that "10.1.0.0/16" allows 10.1.2.3 and "0.0.0.0/0"
// doesn't. Cloud metadata needs the address itself; unspecified, multicast and
// broadcast addresses are never allowed.
NetworkDecision DecideHost(const NetworkPolicy& policy,
                           const RequestedHost& host, uint16_t port);

// Whether a connection may be made to `address`, to which `host` resolved.
// `rule` is the one that DecideHost returned for the same host and port; the
// decision contains it again. Public addresses are allowed, and others if a
// rule with this port means them (see DecideHost). If the host is an address,
// only that address is allowed. Connect to the address that was decided about,
// never to the name again: it may resolve to another address by then.
NetworkDecision DecideAddress(const NetworkPolicy& policy, size_t rule,
                              const RequestedHost& host, uint16_t port,
                              const IpAddress& address);

// Whether the rule allows HTTP requests of the method, which is case-sensitive.
bool AllowsMethod(const AllowedHost& rule, std::string_view method);

// One line for people, without a full stop:
//   host "a.b" isn't in profile "x"'s network list; it has 3 hosts
// `policy`, `host` and `port` are those of the decision.
std::string Words(const NetworkPolicy& policy, const NetworkDecision& decision,
                  const RequestedHost& host, uint16_t port);

// A text such as "port 443", "ports 80 and 443", "ports 80, 443 and 8000 to
// 8999".
std::string PortWords(const std::vector<PortRange>& ports);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_NETWORK_H_
