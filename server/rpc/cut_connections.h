#ifndef SANDGLASS_SERVER_RPC_CUT_CONNECTIONS_H_
#define SANDGLASS_SERVER_RPC_CUT_CONNECTIONS_H_

#include <string>

namespace sandglass::server {

// Shuts down, both ways, each connection that this process has accepted on the
// unix socket `path` (empty: none) or on the TCP port `port` (0: none), whoever
// in it owns the descriptor. For clients that have stopped reading: gRPC's
// server waits for them without end. Returns how many there were.
int CutConnections(const std::string& path, int port);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_CUT_CONNECTIONS_H_
