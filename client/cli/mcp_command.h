#ifndef SANDGLASS_CLIENT_CLI_MCP_COMMAND_H_
#define SANDGLASS_CLIENT_CLI_MCP_COMMAND_H_

#include "client/cli/mcp_options.h"
#include "client/connection/endpoint.h"

namespace sandglass::client {

// `sandglass mcp`: serves until its input ends or a signal is received.
// Standard output only carries the protocol; everything else is printed to
// standard error. Returns the exit code: kExitOk, or kExitError when it can't
// serve at all. There need not be a daemon at `endpoint` yet.
int McpCommand(const Endpoint& endpoint, const McpOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CLI_MCP_COMMAND_H_
