#ifndef SANDGLASS_SERVER_BASE_LISTEN_ADDRESS_H_
#define SANDGLASS_SERVER_BASE_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace sandglass::server {

// So many connections wait while the server is busy accepting; the kernel cuts
// it to net.core.somaxconn.
inline constexpr int kListenBacklog = 4096;

// Where the daemon listens: a unix socket, a loopback TCP port in plain text,
// or any TCP port with TLS.
struct ListenAddress {
  std::string unix_path;  // absolute; empty for TCP
  // In the form that gRPC takes; empty for a unix socket.
  std::string tcp_address;
  bool tls = false;

  // "unix:/run/sandglass/sandglass.sock", "127.0.0.1:8080" or
  // "tls:0.0.0.0:8443".
  std::string ToString() const;
};

// Takes "unix:/absolute/path" and, for TCP, "IP:port" or "[IPv6]:port", where
// port 0 means any free one. There is TLS on every address that isn't of this
// machine alone, and on those that are where "tls:" stands before them.
// INVALID_ARGUMENT for anything else.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_LISTEN_ADDRESS_H_
