#ifndef SANDGLASS_CLIENT_SESSION_SESSION_EXEC_COMMAND_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_EXEC_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/connection/daemon.h"
#include "client/connection/endpoint.h"
#include "client/session/session_options.h"
#include "sandglass/v1/exec.pb.h"

namespace sandglass::client {

// `sandglass session exec` and `shell`, and `attach`. They return the exit
// code.
int SessionExecCommand(const Endpoint& endpoint,
                       const SessionExecOptions& options);
int SessionAttachCommand(const Endpoint& endpoint,
                         const SessionAttachOptions& options);

// `sandglass session ps`, `stop` and `fork`.
int Run(const Daemon& daemon, const SessionPsOptions& options);
int Run(const Daemon& daemon, const SessionStopOptions& options);
int Run(const Daemon& daemon, const SessionForkOptions& options);

// The spec that the options describe, without the terminal's size and without
// whether standard input stays open. `term` is our own TERM, for a command with
// a terminal.
absl::StatusOr<v1::ExecSpec> BuildExecSpec(const SessionExecOptions& options,
                                           const std::string& term);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_EXEC_COMMAND_H_
