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
  // For TCP: a name or an address, without brackets.
  std::string host;
  uint16_t port = 0;
  // Whether TLS is spoken there. On loopback, plain text is meant unless
  // something says otherwise.
  bool tls = false;
  // Of a unix socket or a loopback address; others are looked up later.
  sockaddr_storage socket_address = {};
  socklen_t socket_address_length = 0;

  // "host:port", with brackets where an IPv6 address needs them.
  std::string HostAndPort() const;
};

// Reads "unix:/path", "host:port", "https://host:port" or "dns:///host:port".
// Without TLS are only unix sockets and "host:port" of a loopback address
// (127.0.0.0/8, [::1]) or "localhost" (127.0.0.1). Never asks a name server.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_ADDRESS_H_
