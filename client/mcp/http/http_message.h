#ifndef SANDGLASS_CLIENT_MCP_HTTP_HTTP_MESSAGE_H_
#define SANDGLASS_CLIENT_MCP_HTTP_HTTP_MESSAGE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// A request of HTTP/1.1 or 1.0.
struct HttpRequest {
  std::string method;
  std::string target;  // as received: "/mcp?x"
  // Names in lower case; values without surrounding spaces.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // The value of a header, whose name is given in lower case; nullopt unless it
  // occurs exactly once.
  std::optional<std::string> Header(absl::string_view name) const;
  size_t Count(absl::string_view name) const;
  // The target before its query.
  std::string Path() const;
};

// Reads what precedes the body, without the empty line. nullopt when it isn't a
// request that can only be understood in one way: a folded line, a name that
// isn't a token, a control character.
std::optional<HttpRequest> ParseHttpHead(absl::string_view head);

// The body's length, or an HTTP status when it can't be determined: 411 when it
// is missing but required, 400 when it is invalid or given in several ways.
struct BodyLength {
  int status = 0;  // 0: valid
  size_t bytes = 0;
};
BodyLength BodyLengthOf(const HttpRequest& request);

// An answer, after which the connection is closed.
struct HttpResponse {
  int status = 200;
  std::string content_type;  // empty: no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};
std::string HttpText(const HttpResponse& response);

// The head of an answer whose body is a stream of events until the connection's
// end, and one event of such a stream.
std::string EventStreamHead();
std::string EventText(absl::string_view data);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_MESSAGE_H_
