#ifndef SANDGLASS_CLIENT_MCP_DAEMON_TOOLS_H_
#define SANDGLASS_CLIENT_MCP_DAEMON_TOOLS_H_

#include <string>

#include "absl/time/time.h"
#include "client/mcp/daemon_link.h"
#include "client/mcp/tool_table.h"

namespace sandglass::client {

// How long a call may let a program run that says nothing of it, and the most
// that it may ask for: hosts give up on a call after a minute.
constexpr absl::Duration kDefaultCallTime = absl::Seconds(30);
constexpr absl::Duration kMostCallTime = absl::Seconds(50);

// The tools that a daemon does. Each connects when it is called, and says so in
// its answer when that can't be done. `profile` is that of all that is run,
// empty for the default one. `link` outlives them.
ToolTable DaemonTools(DaemonLink& link, const std::string& profile);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_DAEMON_TOOLS_H_
