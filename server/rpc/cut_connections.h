#ifndef SANDGLASS_SERVER_RPC_CUT_CONNECTIONS_H_
#define SANDGLASS_SERVER_RPC_CUT_CONNECTIONS_H_

#include <string>

namespace sandglass::server {

// Shuts down, in both directions, each connection that this process has
// accepted on the unix socket `path` (none if it is empty) or on the TCP port
// `port` (none if it is 0), whichever part of the process owns the descriptor.
// It is for clients that have stopped reading, since gRPC's server waits for
// them without end. Returns how many connections there were.
int CutConnections(const std::string& path, int port);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_CUT_CONNECTIONS_H_
