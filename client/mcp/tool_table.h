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

// A tool as MCP clients see it, and its function.
struct McpTool {
  std::string name;
  std::string title;
  std::string description;
  // A JSON schema, of one of the forms that CheckArguments supports.
  Json input_schema;
  bool read_only = false;
  // It may delete or replace what is in a sandbox.
  bool destructive = false;
  // It runs a program, which can reach what the profile's network allows.
  bool runs_programs = false;
  // Called with arguments that fit the schema, without those that are null.
  // Thread-safe.
  std::function<ToolAnswer(const Json& arguments, ToolContext& context)> call;
};

struct ToolTable {
  std::vector<McpTool> tools;
  // Whether programs may reach something outside; true when that isn't known.
  // Fast and thread-safe.
  std::function<bool()> has_network;

  // Null when there is no tool of this name.
  const McpTool* Find(const std::string& name) const;
};

// Says which of a call's arguments doesn't fit the schema, and why; empty when
// all do. It supports schemas that are objects with "properties" and
// "required"; each property is a "string", "integer", "number", "boolean" or an
// "array" of strings, with "minimum", "maximum" and "minLength". Unknown names
// are refused. A null counts as absent.
std::string CheckArguments(const Json& schema, const Json& arguments);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_TOOL_TABLE_H_
