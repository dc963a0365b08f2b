#ifndef SANDGLASS_CLIENT_SESSION_SESSION_RUN_COMMAND_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_RUN_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/session/session_options.h"

namespace sandglass::client {

// `sandglass session run`. Returns the exit code (see exit_codes.h). SIGPIPE
// must be ignored, and there must be no other thread yet.
int SessionRunCommand(const Endpoint& endpoint,
                      const SessionRunOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_RUN_COMMAND_H_
