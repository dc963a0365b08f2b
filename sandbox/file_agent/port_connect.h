#ifndef SANDGLASS_SANDBOX_FILE_AGENT_PORT_CONNECT_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_PORT_CONNECT_H_

#include "internal/files.pb.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Connects to a program of the jail that listens, by IPv4 or else IPv6, on the
// jail's loopback. kFailed with ECONNREFUSED: none does. Takes a moment at
// most: where the program's queue is full, the connection is still on its way.
FileResult ConnectToPort(const internal::ConnectPort& request, os::Fd& socket);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_PORT_CONNECT_H_
