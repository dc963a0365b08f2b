#ifndef SANDGLASS_CLIENT_SESSION_SESSION_GET_COMMAND_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_GET_COMMAND_H_

#include <string>

#include "client/session/session_options.h"

namespace sandglass::client {

// `sandglass session get`, `cat` and `snapshot`. They return the exit code.
int SessionGetCommand(const std::string& address,
                      const SessionGetOptions& options);
int SessionCatCommand(const std::string& address,
                      const SessionCatOptions& options);
int SessionSnapshotCommand(const std::string& address,
                           const SessionSnapshotOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_GET_COMMAND_H_
