#ifndef SANDGLASS_CLIENT_MCP_HTTP_HTTP_RUN_H_
#define SANDGLASS_CLIENT_MCP_HTTP_HTTP_RUN_H_

#include "client/mcp/http/http_connection.h"
#include "client/mcp/mcp_protocol.h"

namespace sandglass::client {

// Runs the tool and answers over the connection: with one JSON object or, with
// `stream`, with a stream of events that ends with the reply. Cancels the run
// when the client goes away, and returns when the run has ended.
void RunOverHttp(const McpProtocol& protocol, const ToolRun& run, bool stream,
                 HttpConnection& connection);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_RUN_H_
