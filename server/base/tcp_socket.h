#ifndef SANDGLASS_SERVER_BASE_TCP_SOCKET_H_
#define SANDGLASS_SERVER_BASE_TCP_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// A non-blocking socket that listens on a numeric "IP:PORT" for as long as it
// is kept; nobody else can listen there meanwhile. Port 0 takes any free one.
// UNAVAILABLE, with the name of the setting, when that can't be.
absl::StatusOr<os::Fd> ListenOnTcp(const std::string& setting,
                                   const std::string& address);

// The port of such a socket.
int TcpPortOf(const os::Fd& socket);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_TCP_SOCKET_H_
