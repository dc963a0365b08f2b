#ifndef SANDGLASS_CLIENT_SESSION_SESSION_GET_COMMAND_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_GET_COMMAND_H_

#include "client/connection/endpoint.h"
#include "client/session/session_options.h"

namespace sandglass::client {

// `sandglass session get`, `cat` and `snapshot`. They return the exit code.
int SessionGetCommand(const Endpoint& endpoint,
                      const SessionGetOptions& options);
int SessionCatCommand(const Endpoint& endpoint,
                      const SessionCatOptions& options);
int SessionSnapshotCommand(const Endpoint& endpoint,
                           const SessionSnapshotOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_GET_COMMAND_H_
