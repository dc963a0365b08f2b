#ifndef SANDGLASS_CLIENT_MCP_SANDBOX_TOOLS_H_
#define SANDGLASS_CLIENT_MCP_SANDBOX_TOOLS_H_

#include <string>
#include <vector>

#include "client/mcp/daemon_link.h"
#include "client/mcp/tool_table.h"

namespace sandglass::client {

// The tools for sandboxes and the files in them; the arguments are those of
// DaemonTools.
std::vector<McpTool> SandboxTools(DaemonLink& link, const std::string& profile);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_SANDBOX_TOOLS_H_
