#ifndef SANDGLASS_CLIENT_OPERATOR_OPERATOR_COMMANDS_H_
#define SANDGLASS_CLIENT_OPERATOR_OPERATOR_COMMANDS_H_

#include "client/connection/endpoint.h"
#include "client/operator/operator_options.h"

namespace sandglass::client {

// `sandglass status`, `top` and `usage`; returns the exit code. SIGPIPE must be
// ignored, and there must be no other thread yet.
int OperatorCommand(const Endpoint& endpoint, const OperatorOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_OPERATOR_COMMANDS_H_
