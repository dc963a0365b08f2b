#ifndef SANDGLASS_CLIENT_SESSION_SESSION_PUT_COMMAND_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_PUT_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/session/session_options.h"

namespace sandglass::client {

// `sandglass session put`. Returns the exit code.
int SessionPutCommand(const Endpoint& endpoint,
                      const SessionPutOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_PUT_COMMAND_H_
