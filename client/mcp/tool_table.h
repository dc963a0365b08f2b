#ifndef SANDGLASS_CLIENT_MCP_TOOL_TABLE_H_
#define SANDGLASS_CLIENT_MCP_TOOL_TABLE_H_

#include <functional>
#include <string>
#include <vector>

#include "client/connection/cancellable_call.h"
#include "client/mcp/json_rpc.h"
#include "client/toolbox/tool_answer.h"
#include "client/toolbox/tool_progress.h"

namespace sandglass::client {

// What the function of a tool gets besides its arguments.
struct ToolContext {
  CallCancel& cancel;
  ToolProgress progress;  // may be empty
};

// A tool as MCP's clients see it, and what it does.
struct McpTool {
  std::string name;
  std::string title;
  std::string description;
  // A JSON schema, of the forms that CheckArguments knows.
  Json input_schema;
  bool read_only = false;
  // May delete or replace what is in a sandbox.
  bool destructive = false;
  // Runs a program, which reaches what the profile's network reaches.
  bool runs_programs = false;
  // Gets arguments that fit the schema, without those that are null.
  // Thread-safe.
  std::function<ToolAnswer(const Json& arguments, ToolContext& context)> call;
};

struct ToolTable {
  std::vector<McpTool> tools;
  // Whether programs may reach something outside; true when that can't be
  // said. Quick, thread-safe.
  std::function<bool()> has_network;

  // Null when there is none of this name.
  const McpTool* Find(const std::string& name) const;
};

// The words that say which of a call's arguments does not fit the schema and
// how; empty when all do. Of schemas it knows objects with "properties" and
// "required"; each property a "string", "integer", "number", "boolean" or an
// "array" of strings, with "minimum", "maximum" and "minLength". Other names
// are refused. A null counts as left out.
std::string CheckArguments(const Json& schema, const Json& arguments);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_TOOL_TABLE_H_
