#ifndef SANDGLASS_SANDBOX_JAIL_NETWORK_LEASE_H_
#define SANDGLASS_SANDBOX_JAIL_NETWORK_LEASE_H_

#include "absl/status/statusor.h"
#include "sandbox/wire/network_use.h"

namespace sandglass::sandbox {

// As long as this lives, the egress proxy serves one jail. EgressPort::Open
// makes it, and the jail owns it (Jail::SetNetwork).
class NetworkLease {
 public:
  // Waits until all connections of the jail have ended.
  virtual ~NetworkLease() = default;
  NetworkLease(const NetworkLease&) = delete;
  NetworkLease& operator=(const NetworkLease&) = delete;

  // What the jail has used up to now. UNAVAILABLE, DEADLINE_EXCEEDED: the proxy
  // is gone or hangs.
  virtual absl::StatusOr<NetworkUse> Use() const = 0;

 protected:
  NetworkLease() = default;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_NETWORK_LEASE_H_
