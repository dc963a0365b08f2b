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
  std::string target;  // as it came: "/mcp?x"
  // Names in small letters; values without spaces around them.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // The header's value, given its name in small letters; nothing when it isn't
  // there once.
  std::optional<std::string> Header(absl::string_view name) const;
  size_t Count(absl::string_view name) const;
  // The target before its query.
  std::string Path() const;
};

// Reads what comes before the body, without the empty line. Nothing when it is
// no request that can be understood for sure: a line that is folded, a name
// that is no token, a control character.
std::optional<HttpRequest> ParseHttpHead(absl::string_view head);

// The body's length. An HTTP status when it can't be told: 411 without one
// where there must be one, 400 for one that makes no sense or is given in
// several ways.
struct BodyLength {
  int status = 0;  // 0: good
  size_t bytes = 0;
};
BodyLength BodyLengthOf(const HttpRequest& request);

// An answer; its connection is closed after it.
struct HttpResponse {
  int status = 200;
  std::string content_type;  // empty: no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};
std::string HttpText(const HttpResponse& response);

// The head of an answer whose body is a stream of events, up to the
// connection's end, and one event of it.
std::string EventStreamHead();
std::string EventText(absl::string_view data);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_MESSAGE_H_
