#ifndef SANDGLASS_CLIENT_MCP_TOOL_ARGUMENTS_H_
#define SANDGLASS_CLIENT_MCP_TOOL_ARGUMENTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/mcp/daemon_link.h"
#include "client/mcp/json_rpc.h"
#include "client/toolbox/tool_answer.h"
#include "client/toolbox/toolbox.h"

// Parts from which the functions of tools are built.
namespace sandglass::client {

Json ObjectSchema(Json properties, const std::vector<std::string>& required);
Json StringSchema(const std::string& description);  // must not be empty
Json StringsSchema(const std::string& description);

// What the argument "sandbox_id" is, for its schema.
inline constexpr char kSandboxHelp[] = "A sandbox that create_sandbox made";

// The argument, which fits its schema; what is empty or 0 when it isn't there.
std::string Text(const Json& arguments, const char* name);
std::vector<std::string> Texts(const Json& arguments, const char* name);
uint64_t Count(const Json& arguments, const char* name);
absl::Duration Seconds(const Json& arguments, const char* name,
                       absl::Duration otherwise);

ToolAnswer Refused(std::string text);

// Connects if necessary and makes the call; the answer says so when there is no
// daemon.
using ToolboxCall = std::function<ToolAnswer(const Toolbox& toolbox)>;
ToolAnswer CallToolbox(DaemonLink& link, const ToolboxCall& call);

// The same for a call that may run as long as the argument "timeout" says,
// which is put into `timeout` before `call` is made. Refuses a time that is too
// long for one call, and says what to do instead; it also says that if the time
// wasn't enough.
ToolAnswer CallWithin(DaemonLink& link, const Json& arguments,
                      absl::Duration& timeout, const ToolboxCall& call);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_TOOL_ARGUMENTS_H_
