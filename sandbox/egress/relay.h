#ifndef SANDGLASS_SANDBOX_EGRESS_RELAY_H_
#define SANDGLASS_SANDBOX_EGRESS_RELAY_H_

#include "absl/status/status.h"
#include "sandbox/egress/lease.h"

namespace sandglass::egress {

// Passes on what each of two sockets sends to the other, until both have ended.
// The bytes stay in the kernel (splice(2)).
//
// OK: both have ended. RESOURCE_EXHAUSTED: the lease's bytes are used up.
// DEADLINE_EXCEEDED: neither has sent anything for limits().idle. CANCELLED:
// the lease has ended. Otherwise the error of a socket. SIGPIPE has to be
// ignored.
absl::Status Relay(Lease& lease, int program, int upstream);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_RELAY_H_
