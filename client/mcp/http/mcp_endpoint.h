#ifndef SANDGLASS_CLIENT_MCP_HTTP_MCP_ENDPOINT_H_
#define SANDGLASS_CLIENT_MCP_HTTP_MCP_ENDPOINT_H_

#include <optional>
#include <string>

#include "client/mcp/http/http_message.h"
#include "client/mcp/mcp_protocol.h"

namespace sandglass::client {

struct EndpointOptions {
  // The token that clients have to send. Empty: none is needed.
  std::string token;
  // Requests must address this machine by a loopback name, so that a web page
  // whose host name was made to resolve to this machine gets nothing.
  bool loopback_hosts_only = true;
};

// MCP's streamable HTTP at /mcp: a POST is a message or, in earlier revisions,
// a batch, and its answer is the reply, as JSON or, if progress is wanted, as a
// stream of events. There are no sessions, also for earlier revisions. When a
// client goes away, its call is cancelled. Thread-safe.
class McpEndpoint final : public HttpService {
 public:
  // `protocol` has to outlive this object and its answers.
  McpEndpoint(const McpProtocol& protocol, EndpointOptions options);

  std::optional<HttpResponse> Refusal(
      const HttpRequest& request) const override;
  HttpResponse Failure(int status) const override;
  HttpReply Answer(const HttpRequest& request) const override;

 private:
  bool HasToken(const HttpRequest& request) const;
  HttpReply AnswerBatch(const HttpRequest& request,
                        const RpcMessage& batch) const;

  const McpProtocol& protocol_;
  const EndpointOptions options_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_MCP_ENDPOINT_H_
