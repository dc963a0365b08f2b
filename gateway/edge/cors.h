#ifndef SANDGLASS_GATEWAY_EDGE_CORS_H_
#define SANDGLASS_GATEWAY_EDGE_CORS_H_

#include <optional>
#include <string>
#include <vector>

#include "gateway/connect/answers.h"
#include "gateway/connect/call_head.h"

namespace sandglass::gateway {

// Which web pages may read answers (https://fetch.spec.whatwg.org, CORS).
struct CorsConfig {
  // As browsers write them: "https://app.example.org". The only one may be "*":
  // all pages, which can be no harm by itself, since callers prove who they are
  // by a header and never by a cookie.
  std::vector<std::string> origins;
};

// Whether a configuration may have it among its origins.
bool IsOrigin(const std::string& text);

// The headers that an answer to this request needs so that the page that sent
// it may read it. None where no page did. Where another page did, none but
// "vary".
HeaderFields CorsHeaders(const CorsConfig& config, const HttpHead& request);

// The whole answer to a browser's question whether it may send the request that
// it has. nullopt: this is no such question.
std::optional<HttpAnswer> CorsPreflight(const CorsConfig& config,
                                        const HttpHead& request);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_CORS_H_
