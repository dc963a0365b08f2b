#ifndef SANDGLASS_CLIENT_MCP_HTTP_HTTP_RUN_H_
#define SANDGLASS_CLIENT_MCP_HTTP_HTTP_RUN_H_

#include "client/mcp/http/http_connection.h"
#include "client/mcp/mcp_protocol.h"

namespace sandglass::client {

// Runs the tool and answers over the connection: by one JSON object or, with
// `stream`, by a stream of events that the reply ends. Cancels the run when the
// client goes away, and comes back when it has ended.
void RunOverHttp(const McpProtocol& protocol, const ToolRun& run, bool stream,
                 HttpConnection& connection);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_RUN_H_
