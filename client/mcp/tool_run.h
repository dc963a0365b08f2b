#ifndef SANDGLASS_CLIENT_MCP_TOOL_RUN_H_
#define SANDGLASS_CLIENT_MCP_TOOL_RUN_H_

#include <functional>

#include "client/connection/cancellable_call.h"
#include "client/mcp/json_rpc.h"
#include "client/mcp/mcp_protocol.h"

namespace sandglass::client {

// Sends a message to the client. Called on the thread that runs the tool.
using SendMessage = std::function<void(const Json& message)>;

// Checks the arguments, runs the tool, and returns the reply. Progress is only
// sent if it was requested, at most a few times a second.
Json CarryOut(const McpProtocol& protocol, const ToolRun& run,
              CallCancel& cancel, const SendMessage& send);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_TOOL_RUN_H_
