#ifndef SANDGLASS_SANDBOX_EGRESS_RELAY_H_
#define SANDGLASS_SANDBOX_EGRESS_RELAY_H_

#include "absl/status/status.h"
#include "sandbox/egress/lease.h"

namespace sandglass::egress {

// Passes on what each of two sockets says to the other, until both have said
// all. The bytes stay in the kernel (splice(2)).
//
// OK: both ends. RESOURCE_EXHAUSTED: the lease's bytes are used up.
// DEADLINE_EXCEEDED: for limits().idle nobody said anything. CANCELLED: the
// lease has ended. Else the error of a socket. SIGPIPE has to be ignored.
absl::Status Relay(Lease& lease, int program, int upstream);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_RELAY_H_
