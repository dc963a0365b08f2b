#ifndef SANDGLASS_CLIENT_MCP_MCP_PROTOCOL_H_
#define SANDGLASS_CLIENT_MCP_MCP_PROTOCOL_H_

#include <optional>
#include <string>

#include "client/mcp/json_rpc.h"
#include "client/mcp/tool_table.h"
#include "client/toolbox/tool_answer.h"

namespace sandglass::client {

// The revision of MCP in which each request states its revision.
constexpr char kModernVersion[] = "2026-07-28";
// The key under which it states that.
constexpr char kVersionMeta[] = "io.modelcontextprotocol/protocolVersion";

// A tool that has to be run now.
struct ToolRun {
  Json id;  // of the request
  const McpTool* tool = nullptr;
  Json arguments = Json::object();
  Json progress_token;      // null: no progress is wanted
  std::string traceparent;  // well-formed; empty: none was given
  bool modern = false;      // determines the form of the reply
};

// What has to be done about a message; at most one of these is set.
struct Handled {
  Json reply;  // null: none
  std::optional<ToolRun> run;
  Json cancel;  // the id of a request; null: none
};

// The Model Context Protocol without its transports: both the revision
// 2026-07-28, in which each request stands alone, and the earlier ones with
// their handshake. The request alone shows which of them it uses, so no state
// is kept between requests. Thread-safe.
class McpProtocol {
 public:
  explicit McpProtocol(ToolTable tools);

  // If nothing is set in the result, the message is to be ignored. Of a batch
  // each message goes to HandlePart instead.
  Handled Handle(const RpcMessage& message) const;
  // The same for a message of a batch, where some requests may not be.
  Handled HandlePart(const RpcMessage& message) const;

  // The reply to the request of a run.
  Json Finished(const ToolRun& run, const ToolAnswer& answer) const;

  // A progress notification for a run whose token isn't null. `progress` has to
  // grow from one notification to the next.
  static Json Progress(const ToolRun& run, double progress,
                       const std::string& words);

  // Whether the request is of the revision in which each states its revision.
  static bool IsModern(const RpcMessage& message);
  // The error that this revision isn't supported.
  static RpcError UnsupportedVersion(const std::string& requested);
  // Whether it is one of the revisions with a handshake.
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
