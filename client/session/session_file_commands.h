#ifndef SANDGLASS_CLIENT_SESSION_SESSION_FILE_COMMANDS_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_FILE_COMMANDS_H_

#include <string>

#include "absl/time/time.h"
#include "client/connection/daemon.h"
#include "client/connection/endpoint.h"
#include "client/session/session_options.h"
#include "sandglass/v1/files.pb.h"

namespace sandglass::client {

// `sandglass session ls`. Returns the exit code.
int Run(const Daemon& daemon, const SessionLsOptions& options);

// `sandglass session restore`.
int SessionRestoreCommand(const Endpoint& endpoint,
                          const SessionRestoreOptions& options);

// The output of `ls` for these entries and options; times are in the local time
// zone. Harmless for a terminal.
std::string EntriesText(const v1::ListDirectoryResponse& entries,
                        const SessionLsOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_FILE_COMMANDS_H_
