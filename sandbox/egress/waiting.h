#ifndef SANDGLASS_SANDBOX_EGRESS_WAITING_H_
#define SANDGLASS_SANDBOX_EGRESS_WAITING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/network/address.h"
#include "sandbox/os/fd.h"

// Sockets of one connection, read and written by a thread of its own that waits
// no longer than it may. All sockets here are non-blocking.
namespace sandglass::egress {

// How long a wait may take: until a time of os::SteadyNow(), and until the end
// of the lease, which `ended` tells by being readable for good (-1: nobody ends
// it).
struct Patience {
  absl::Time until = absl::InfiniteFuture();
  int ended = -1;

  Patience AtMost(absl::Duration longest) const;
};

// OK: one of `events` (as of poll(2)) holds, or an error or hangup, which the
// next call on the socket tells. DEADLINE_EXCEEDED, CANCELLED: time or lease
// have ended first.
absl::Status WaitFor(int socket, int16_t events, const Patience& patience);

// For poll(2): milliseconds until then, at most a minute; it may end too early,
// but by less than one never.
int PollTimeout(absl::Time until);

// A close is to reset the connection: it ends, and not as if all was said.
void Reset(int socket);

// All of it, or an error.
absl::Status WriteAll(int socket, std::string_view data,
                      const Patience& patience);

// A connected TCP socket. UNAVAILABLE with the address and why.
absl::StatusOr<os::Fd> Connect(const policy::IpAddress& address, uint16_t port,
                               const Patience& patience);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_WAITING_H_
