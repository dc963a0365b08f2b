#ifndef SANDGLASS_CLIENT_CLI_INFO_COMMANDS_H_
#define SANDGLASS_CLIENT_CLI_INFO_COMMANDS_H_

#include <string>

#include "client/connection/endpoint.h"
#include "client/flags/options.h"
#include "sandglass/v1/server_info.pb.h"

namespace sandglass::client {

// `sandglass info` and `sandglass languages`; they return the exit code.
int InfoCommand(const Endpoint& endpoint, const InfoOptions& options);
int LanguagesCommand(const Endpoint& endpoint, const LanguagesOptions& options);

// The output of these commands, harmless for a terminal.
std::string InfoText(const v1::GetServerInfoResponse& info);
std::string LanguagesText(const v1::GetServerInfoResponse& info);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CLI_INFO_COMMANDS_H_
