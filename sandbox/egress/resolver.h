#ifndef SANDGLASS_SANDBOX_EGRESS_RESOLVER_H_
#define SANDGLASS_SANDBOX_EGRESS_RESOLVER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/network/address.h"
#include "sandbox/egress/waiting.h"

namespace sandglass::egress {

// Finds the addresses of names, as this host would: /etc/hosts, then the name
// servers of /etc/resolv.conf, which are read anew each time. Without search
// domains: a name means the same everywhere. Thread-safe.
class Resolver {
 public:
  // Takes "address" or "address:port", an IPv6 one in brackets; empty: the
  // host's own. INVALID_ARGUMENT: one is none. Starts the library (c-ares),
  // which is to be done while there is one thread.
  static absl::StatusOr<Resolver> Create(
      const std::vector<std::string>& servers);

  Resolver(Resolver&&) noexcept;
  Resolver& operator=(Resolver&&) = delete;
  ~Resolver();

  // In the order to try them, each once, kMostAddresses at most and one at
  // least. NOT_FOUND: there is no such name, or it has no address. UNAVAILABLE:
  // no server gave an answer. DEADLINE_EXCEEDED, CANCELLED: as of WaitFor.
  absl::StatusOr<std::vector<policy::IpAddress>> Resolve(
      const std::string& name, const Patience& patience) const;

  static constexpr size_t kMostAddresses = 16;

 private:
  explicit Resolver(std::string servers) : servers_(std::move(servers)) {}

  std::string servers_;  // for ares_set_servers_ports_csv(3)
  bool owns_library_ = true;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_RESOLVER_H_
