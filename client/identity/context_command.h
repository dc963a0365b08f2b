#ifndef SANDGLASS_CLIENT_IDENTITY_CONTEXT_COMMAND_H_
#define SANDGLASS_CLIENT_IDENTITY_CONTEXT_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/identity/identity_options.h"

namespace sandglass::client {

// `sandglass context …`; returns the exit code. No daemon is asked.
int ContextCommand(const EndpointFlags& flags, const ContextOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_IDENTITY_CONTEXT_COMMAND_H_
