#ifndef SANDGLASS_CLIENT_MCP_HTTP_MCP_ENDPOINT_H_
#define SANDGLASS_CLIENT_MCP_HTTP_MCP_ENDPOINT_H_

#include <optional>
#include <string>

#include "client/mcp/http/http_connection.h"
#include "client/mcp/http/http_message.h"
#include "client/mcp/mcp_protocol.h"

namespace sandglass::client {

struct EndpointOptions {
  // Whoever asks must know it. Empty: nobody needs one.
  std::string token;
  // Requests must name this machine as loopback does, so that a web page whose
  // name was made to point here gets nothing.
  bool loopback_hosts_only = true;
};

// MCP's streamable HTTP at /mcp: a POST is a message, its answer the reply, as
// JSON or, where progress is wanted, as a stream of events. There are no
// sessions, for earlier revisions neither. A client that goes away has
// cancelled its call. Thread-safe.
class McpEndpoint {
 public:
  // `protocol` outlives it.
  McpEndpoint(const McpProtocol& protocol, EndpointOptions options);

  // Serves the connection's request.
  void Serve(HttpConnection& connection) const;

 private:
  // What refuses the request before its body is looked at.
  std::optional<HttpResponse> Refusal(const HttpRequest& request) const;
  bool HasToken(const HttpRequest& request) const;
  void Answer(HttpConnection& connection, const HttpRequest& request) const;

  const McpProtocol& protocol_;
  const EndpointOptions options_;
};

// What a modern request's headers say otherwise than its body; empty when they
// agree.
std::string HeaderMismatch(const HttpRequest& request,
                           const RpcMessage& message);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_MCP_ENDPOINT_H_
