#ifndef SANDGLASS_CLIENT_CONNECTION_ADDRESS_H_
#define SANDGLASS_CLIENT_CONNECTION_ADDRESS_H_

#include <sys/socket.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::client {

constexpr absl::string_view kDefaultAddress =
    "unix:/run/sandglass/sandglass.sock";

// The directory of the daemon that this user starts by himself: /run/sandglass
// for root, else $XDG_RUNTIME_DIR/sandglass, or ~/.local/state/sandglass where
// that variable isn't set. Empty when neither it nor HOME is.
std::string OwnStateDirectory();

// Where to look for a daemon when nobody says: the socket of this user's own
// daemon if there is one, else kDefaultAddress.
std::string UsualAddress();

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
