#ifndef SANDGLASS_SERVER_EDGE_SOCKET_TAP_H_
#define SANDGLASS_SERVER_EDGE_SOCKET_TAP_H_

#include <functional>

#include "absl/status/status.h"
#include "server/edge/connection_tap.h"

namespace sandglass::server {

// gRPC reads its sockets with recvmsg(2) and writes them with sendmsg(2), and
// offers no way to look at the bytes in between. So this process has functions
// of these names itself, which the linker prefers to those of the C library.
// They pass calls on sockets that have a tap to the tap, and all others on to
// the C library.

// Only sockets with numbers below this can have a tap.
inline constexpr int kMaxTapped = 1 << 17;

// What is received and sent on `fd` goes through `tap` from now on; null ends
// that. A call that is under way may still use the earlier tap.
void SetTap(int fd, ConnectionTap* tap);

// UNAVAILABLE when gRPC doesn't call these functions, as another version might
// not: then nothing would bound what a request takes. `serve` hands a socket to
// gRPC's server.
absl::Status CheckTaps(const std::function<void(int fd)>& serve);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_SOCKET_TAP_H_
