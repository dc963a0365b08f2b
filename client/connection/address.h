#ifndef SANDGLASS_CLIENT_CONNECTION_ADDRESS_H_
#define SANDGLASS_CLIENT_CONNECTION_ADDRESS_H_

#include <sys/socket.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::client {

constexpr absl::string_view kDefaultAddress =
    "unix:/run/sandglass/sandglass.sock";

// Where a daemon listens.
struct Address {
  std::string text;       // as it was given
  std::string unix_path;  // empty for TCP
  sockaddr_storage socket_address = {};
  socklen_t socket_address_length = 0;
};

// Reads "unix:/path" or "host:port", where host is a loopback address
// (127.0.0.0/8, [::1]) or "localhost" (127.0.0.1): for other addresses the
// daemon has no TLS or authentication yet. Never asks a name server.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_ADDRESS_H_
