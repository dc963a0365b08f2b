#ifndef SANDGLASS_SERVER_EDGE_CUT_CONNECTIONS_H_
#define SANDGLASS_SERVER_EDGE_CUT_CONNECTIONS_H_

#include <string>

#include "absl/types/span.h"

namespace sandglass::server {

// Shuts down, in both directions, each connection that this process has
// accepted on the unix socket `path` (none if it is empty) or on one of the TCP
// ports, whichever part of the process owns the descriptor.
// It is for clients that have stopped reading, since gRPC's server waits for
// them without end. Returns how many connections there were.
int CutConnections(const std::string& path, absl::Span<const int> ports);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_CUT_CONNECTIONS_H_
