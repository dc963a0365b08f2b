#ifndef SANDGLASS_CLIENT_RUN_RUNS_COMMANDS_H_
#define SANDGLASS_CLIENT_RUN_RUNS_COMMANDS_H_

#include <string>

#include "client/connection/endpoint.h"
#include "client/flags/options.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// `sandglass ps` and `sandglass kill`; they return the exit code.
int PsCommand(const Endpoint& endpoint, const PsOptions& options);
int KillCommand(const Endpoint& endpoint, const KillOptions& options);

// The output of ps: one line per run, harmless for a terminal.
std::string RunsText(const v1::ListRunsResponse& runs);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_RUNS_COMMANDS_H_
