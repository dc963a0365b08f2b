#ifndef SANDGLASS_CLIENT_OPERATOR_TOP_COMMAND_H_
#define SANDGLASS_CLIENT_OPERATOR_TOP_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/operator/operator_options.h"

namespace sandglass::client {

// `sandglass top`. Returns the exit code: kExitOk when the user left it by its
// key, 128 + the number of a signal (for Ctrl-C that of SIGINT), and kExitError
// when there was no daemon at the start. There must be no other thread yet.
int TopCommand(const Endpoint& endpoint, const TopOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_TOP_COMMAND_H_
