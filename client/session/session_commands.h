#ifndef SANDGLASS_CLIENT_SESSION_SESSION_COMMANDS_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_COMMANDS_H_

#include "client/connection/endpoint.h"
#include "client/session/session_options.h"

namespace sandglass::client {

// `sandglass session …`. Returns the exit code. As for RunCommand, SIGPIPE must
// be ignored, and there must be no other thread yet.
int SessionCommand(const Endpoint& endpoint, const SessionOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_COMMANDS_H_
