#ifndef SANDGLASS_SERVER_BASE_LISTEN_ADDRESS_H_
#define SANDGLASS_SERVER_BASE_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace sandglass::server {

// So many connections wait while the server is busy accepting; the kernel cuts
// it to net.core.somaxconn.
inline constexpr int kListenBacklog = 4096;

// Where the daemon listens: a unix socket or a loopback TCP port.
struct ListenAddress {
  std::string unix_path;  // absolute; empty for TCP
  // In the form that gRPC takes; empty for a unix socket.
  std::string tcp_address;

  // "unix:/run/sandglass/sandglass.sock" or "127.0.0.1:8080".
  std::string ToString() const;
};

// Takes "unix:/absolute/path", "127.x.y.z:port" and "[::1]:port". Port 0 means
// any free one. INVALID_ARGUMENT for anything else: other addresses wait for
// TLS and authentication, which do not exist yet.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_LISTEN_ADDRESS_H_
