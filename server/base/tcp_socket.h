#ifndef SANDGLASS_SERVER_BASE_TCP_SOCKET_H_
#define SANDGLASS_SERVER_BASE_TCP_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// Returns a non-blocking socket that listens on a numeric "IP:PORT" until it is
// closed; nobody else can listen there meanwhile. Port 0 means any free port.
// UNAVAILABLE, with the name of the setting, when it can't listen there. With
// kNot "[::]" takes no IPv4 connections, so that "0.0.0.0" may have the same
// port.
enum class Ipv4 { kToo, kNot };
absl::StatusOr<os::Fd> ListenOnTcp(const std::string& setting,
                                   const std::string& address,
                                   Ipv4 ipv4 = Ipv4::kToo);

// Whether this socket, of whoever made it, listens on a numeric "IP:PORT", on
// any port if that is 0.
bool ListensOnTcp(const os::Fd& socket, const std::string& address);

// The port that such a socket listens on.
int TcpPortOf(const os::Fd& socket);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_TCP_SOCKET_H_
