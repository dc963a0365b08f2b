#ifndef SANDGLASS_CLIENT_SESSION_SESSION_FORWARD_COMMAND_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_FORWARD_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/session/session_options.h"

namespace sandglass::client {

// `sandglass session forward`: takes connections on a port of this machine's
// loopback, each of which becomes one to a port of the session, until it is
// interrupted or the session ends. Returns the exit code.
int SessionForwardCommand(const Endpoint& endpoint,
                          const SessionForwardOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_FORWARD_COMMAND_H_
