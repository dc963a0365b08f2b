#ifndef SANDGLASS_SERVER_RPC_SOCKET_TAP_H_
#define SANDGLASS_SERVER_RPC_SOCKET_TAP_H_

#include <functional>

#include "absl/status/status.h"
#include "server/rpc/connection_tap.h"

namespace sandglass::server {

// gRPC reads its sockets with recvmsg(2) and writes them with sendmsg(2), and
// has nothing by which one could look at the bytes between. So this process has
// functions of these names of its own, which the linker prefers to those of the
// C library: they hand calls on sockets with a tap to it and all others on.

// Numbers of sockets that can have a tap are below that.
inline constexpr int kMostTapped = 1 << 17;

// What is received and sent on `fd` goes through `tap` from now on; null: no
// longer. A call that is under way may still use the earlier tap.
void SetTap(int fd, ConnectionTap* tap);

// UNAVAILABLE when gRPC doesn't come by here, as another version might not:
// then nothing bounds what a request takes. `serve` hands a socket to gRPC's
// server.
absl::Status CheckTaps(const std::function<void(int fd)>& serve);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_SOCKET_TAP_H_
