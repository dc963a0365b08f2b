#ifndef SANDGLASS_SANDBOX_EGRESS_UPSTREAM_H_
#define SANDGLASS_SANDBOX_EGRESS_UPSTREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "policy/network/hosts.h"
#include "policy/network/network.h"
#include "sandbox/egress/lease.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/os/fd.h"

namespace sandglass::egress {

// Where a program wants to connect to and may.
struct Destination {
  policy::RequestedHost host;
  uint16_t port;
  size_t rule;  // the rule of the lease's policy that allows it
};

// Asks the policy, and records a refusal in the lease. INVALID_ARGUMENT: `host`
// is malformed. PERMISSION_DENIED: it isn't allowed; the message says by which
// rule.
absl::StatusOr<Destination> Allowed(Lease& lease, std::string_view host,
                                    policy::HostSyntax syntax, uint16_t port);

// Resolves the name and connects, within limits().to_connect. The policy is
// asked about each address just before the connection to it, and no name is
// resolved twice for one connection, so that no DNS server can give one address
// for the check and another for the connection.
//
// PERMISSION_DENIED: there is no address that may be connected to; recorded in
// the lease. NOT_FOUND, UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED: see
// Resolver, Connect.
absl::StatusOr<os::Fd> ConnectTo(Lease& lease, const Resolver& resolver,
                                 const Destination& to);

// "host:port".
std::string TargetText(const policy::RequestedHost& host, uint16_t port);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_UPSTREAM_H_
