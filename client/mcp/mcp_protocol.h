#ifndef SANDGLASS_CLIENT_MCP_MCP_PROTOCOL_H_
#define SANDGLASS_CLIENT_MCP_MCP_PROTOCOL_H_

#include <optional>
#include <string>

#include "client/mcp/json_rpc.h"
#include "client/mcp/tool_table.h"
#include "client/toolbox/tool_answer.h"

namespace sandglass::client {

// The revision of MCP in which each request says what it speaks.
constexpr char kModernVersion[] = "2026-07-28";
// Where it says so.
constexpr char kVersionMeta[] = "io.modelcontextprotocol/protocolVersion";

// A tool that is to be run now.
struct ToolRun {
  Json id;  // of the request
  const McpTool* tool = nullptr;
  Json arguments = Json::object();
  Json progress_token;      // null: nobody wants to hear of progress
  std::string traceparent;  // well-formed, or empty: none was given
  bool modern = false;      // how the reply is to look
};

// What a message asks for. At most one of them.
struct Handled {
  Json reply;  // null: none
  std::optional<ToolRun> run;
  Json cancel;  // the id of a request; null: none
};

// The Model Context Protocol without its transports: both the revision
// 2026-07-28, where each request stands for itself, and the earlier ones with
// their handshake. Which of them a request is of is seen from the request
// alone, so nothing is kept between two of them. Thread-safe.
class McpProtocol {
 public:
  explicit McpProtocol(ToolTable tools);

  // Nothing in the result: the message is to be passed over.
  Handled Handle(const RpcMessage& message) const;

  // The reply to a run's request.
  Json Finished(const ToolRun& run, const ToolAnswer& answer) const;

  // A notification about a run whose token is not null. `progress` grows from
  // one to the next.
  static Json Progress(const ToolRun& run, double progress,
                       const std::string& words);

  // Whether the request is of the revision where each says what it speaks.
  static bool IsModern(const RpcMessage& message);
  // That a revision of this name isn't spoken here.
  static RpcError UnsupportedVersion(const std::string& requested);
  // Whether it is one with a handshake.
  static bool IsLegacyVersion(const std::string& version);

 private:
  Handled HandleModern(const RpcMessage& request) const;
  Handled HandleLegacy(const RpcMessage& request) const;
  Handled ListTools(const RpcMessage& request, bool modern) const;
  Handled CallTool(const RpcMessage& request, bool modern) const;

  const ToolTable tools_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_MCP_PROTOCOL_H_
