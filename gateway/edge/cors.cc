#include "gateway/edge/cors.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "absl/strings/match.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

constexpr int kNoContent = 204;
// Browsers keep an answer for two hours at most.
constexpr char kKeptSeconds[] = "7200";
// What Connect's, gRPC-Web's and our own callers send.
constexpr char kRequestHeaders[] =
    "authorization, connect-content-encoding, connect-protocol-version, "
    "connect-timeout-ms, content-encoding, content-type, grpc-encoding, "
    "grpc-timeout, sandglass-text, traceparent, tracestate, "
    "x-grpc-web, x-request-id, x-user-agent";
// What they read of answers.
constexpr char kAnswerHeaders[] =
    "grpc-message, grpc-status, grpc-status-details-bin, retry-after, "
    "sandglass-missing-node, trailer-sandglass-missing-node";

std::optional<std::string> Origin(const HttpHead& request) {
  const auto origin = OnlyHeader(request.headers, "origin");
  if (!origin.ok() || !origin->has_value()) return std::nullopt;
  return std::string(**origin);
}

bool Allows(const CorsConfig& config, const std::string& origin) {
  return std::ranges::any_of(config.origins, [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

}  // namespace

bool IsOrigin(const std::string& text) {
  if (text == "*") return true;
  size_t at = text.find("://");
  if (at == std::string::npos) return false;
  const std::string scheme = text.substr(0, at);
  const std::string host = text.substr(at + 3);
  constexpr size_t kMost = 300;
  return (scheme == "https" || scheme == "http") && !host.empty() &&
         text.size() <= kMost && std::ranges::all_of(host, [](unsigned char c) {
           return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '.' ||
                  c == '-' || c == ':' || c == '[' || c == ']';
         });
}

HeaderFields CorsHeaders(const CorsConfig& config, const HttpHead& request) {
  if (config.origins.empty()) return {};
  const std::optional<std::string> origin = Origin(request);
  // What lies between here and the browser may not give one page's answer to
  // another.
  HeaderFields headers = {{"vary", "origin"}};
  if (!origin.has_value() || !Allows(config, *origin)) return headers;
  headers.push_back({"access-control-allow-origin", *origin});
  headers.push_back({"access-control-expose-headers", kAnswerHeaders});
  return headers;
}

std::optional<HttpAnswer> CorsPreflight(const CorsConfig& config,
                                        const HttpHead& request) {
  const auto asked =
      OnlyHeader(request.headers, "access-control-request-method");
  const std::optional<std::string> origin = Origin(request);
  if (request.method != "OPTIONS" || !origin.has_value() || !asked.ok() ||
      !asked->has_value()) {
    return std::nullopt;
  }
  HttpAnswer answer{.status = kNoContent, .headers = {{"vary", "origin"}}};
  if (!Allows(config, *origin)) return answer;
  answer.headers.push_back({"access-control-allow-origin", *origin});
  answer.headers.push_back({"access-control-allow-methods", "GET, POST"});
  answer.headers.push_back({"access-control-allow-headers", kRequestHeaders});
  answer.headers.push_back({"access-control-max-age", kKeptSeconds});
  return answer;
}

}  // namespace sandglass::gateway
