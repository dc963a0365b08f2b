#ifndef SANDGLASS_SANDBOX_EGRESS_RESOLVER_H_
#define SANDGLASS_SANDBOX_EGRESS_RESOLVER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/network/address.h"
#include "sandbox/egress/waiting.h"

namespace sandglass::egress {

// Finds the addresses of names in the same way as this host: from /etc/hosts,
// then from the name servers in /etc/resolv.conf, which are read anew each
// time. Search domains aren't used: a name means the same everywhere.
// Thread-safe.
class Resolver {
 public:
  // `servers` are "address" or "address:port", with an IPv6 address in
  // brackets; empty: the host's own. INVALID_ARGUMENT: one of them is
  // malformed. Initialises the library (c-ares), which has to happen while
  // there is only one thread.
  static absl::StatusOr<Resolver> Create(
      const std::vector<std::string>& servers);

  Resolver(Resolver&&) noexcept;
  Resolver& operator=(Resolver&&) = delete;
  ~Resolver();

  // Returns addresses in the order in which to try them, each once, at least
  // one and at most kMaxAddresses. NOT_FOUND: there is no such name, or it has
  // no address. UNAVAILABLE: no server answered. DEADLINE_EXCEEDED, CANCELLED:
  // as for WaitFor.
  absl::StatusOr<std::vector<policy::IpAddress>> Resolve(
      const std::string& name, const Patience& patience) const;

  static constexpr size_t kMaxAddresses = 16;

 private:
  explicit Resolver(std::string servers) : servers_(std::move(servers)) {}

  std::string servers_;  // for ares_set_servers_ports_csv(3)
  bool owns_library_ = true;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_RESOLVER_H_
