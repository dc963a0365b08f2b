#ifndef SANDGLASS_CLIENT_RUN_RUN_COMMAND_H_
#define SANDGLASS_CLIENT_RUN_RUN_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/flags/options.h"

namespace sandglass::client {

// `sandglass run`. Returns the exit code (see exit_codes.h). SIGPIPE must be
// ignored, and there must be no other thread yet.
int RunCommand(const Endpoint& endpoint, const RunOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_RUN_COMMAND_H_
