#ifndef SANDGLASS_SANDBOX_EGRESS_WAITING_H_
#define SANDGLASS_SANDBOX_EGRESS_WAITING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/network/address.h"
#include "sandbox/os/fd.h"

// Sockets of one connection, which are read and written by a thread of their
// own that waits only as long as it may. All sockets here are non-blocking.
namespace sandglass::egress {

// How long a wait may take: until a time of os::SteadyNow(), and until the end
// of the lease, at which `ended` becomes readable for good (-1: there is none).
struct Patience {
  absl::Time until = absl::InfiniteFuture();
  int ended = -1;

  Patience AtMost(absl::Duration longest) const;
};

// Waits for a socket. OK: one of `events` (those of poll(2)) holds, or there is
// an error or hangup, which the next call on the socket reports.
// DEADLINE_EXCEEDED, CANCELLED: the time or the lease has ended first.
absl::Status WaitFor(int socket, int16_t events, const Patience& patience);

// The time until then for poll(2): in milliseconds, at most a minute. The wait
// may end too early, but never by less than a millisecond.
int PollTimeout(absl::Time until);

// Makes the close reset the connection, so that the end doesn't look as if
// everything was sent.
void Reset(int socket);

// Writes all of it, or fails.
absl::Status WriteAll(int socket, std::string_view data,
                      const Patience& patience);

// Returns a connected TCP socket. UNAVAILABLE: with the address and the reason.
absl::StatusOr<os::Fd> Connect(const policy::IpAddress& address, uint16_t port,
                               const Patience& patience);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_WAITING_H_
