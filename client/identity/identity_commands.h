#ifndef SANDGLASS_CLIENT_IDENTITY_IDENTITY_COMMANDS_H_
#define SANDGLASS_CLIENT_IDENTITY_IDENTITY_COMMANDS_H_

#include <string>

#include "client/connection/endpoint.h"
#include "client/identity/identity_options.h"

namespace sandglass::client {

// `sandglass context …`, `whoami` and `token …`; returns the exit code.
int IdentityCommand(const EndpointFlags& flags, const IdentityOptions& options);

// For people.
std::string WhoAmIText(const v1::WhoAmIResponse& who);
std::string TokensText(const v1::ListTokensResponse& tokens);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_IDENTITY_IDENTITY_COMMANDS_H_
