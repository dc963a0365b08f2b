#ifndef SANDGLASS_CLIENT_MCP_DAEMON_TOOLS_H_
#define SANDGLASS_CLIENT_MCP_DAEMON_TOOLS_H_

#include <string>

#include "absl/time/time.h"
#include "client/mcp/daemon_link.h"
#include "client/mcp/tool_table.h"

namespace sandglass::client {

// How long a program may run in a call that sets no time, and the most that a
// call may set: hosts give up on a call after a minute.
constexpr absl::Duration kDefaultCallTime = absl::Seconds(30);
constexpr absl::Duration kMaxCallTime = absl::Seconds(50);

// The tools that use a daemon. Each connects when it is called, and its answer
// says so if that isn't possible. `profile` is for all runs, empty for the
// default one. `link` has to outlive the tools.
ToolTable DaemonTools(DaemonLink& link, const std::string& profile);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_DAEMON_TOOLS_H_
