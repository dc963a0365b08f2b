#include "client/mcp/http/mcp_endpoint.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/connection/cancellable_call.h"
#include "client/mcp/http/listen_address.h"
#include "client/mcp/json_rpc.h"
#include "client/mcp/tool_run.h"

namespace sandglass::client {
namespace {

constexpr char kVersionHeader[] = "mcp-protocol-version";

HttpResponse Words(int status, absl::string_view words,
                   std::map<std::string, std::string> headers = {}) {
  headers["Content-Type"] = "text/plain; charset=utf-8";
  return {.status = status,
          .headers = std::move(headers),
          .body = absl::StrCat(words, "\n")};
}

HttpResponse JsonResponse(int status, const Json& message) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}},
          .body = RpcText(message)};
}

HttpResponse EventStream() {
  return {.headers = {{"Content-Type", "text/event-stream"},
                      {"Cache-Control", "no-cache, no-transform"},
                      {"X-Accel-Buffering", "no"}}};
}

std::string EventText(const Json& message) {
  return absl::StrCat("event: message\ndata: ", RpcText(message), "\n\n");
}

// A tool's run, whose reply is JSON or the last event of a stream.
class RunWork final : public HttpWork {
 public:
  RunWork(const McpProtocol& protocol, ToolRun run, bool stream)
      : protocol_(protocol),
        run_(std::move(run)),
        stream_(stream),
        cancel_(run_.traceparent) {}

  std::string Do(const Send& send) override {
    const Json reply =
        CarryOut(protocol_, run_, cancel_, [&](const Json& message) {
          if (stream_) send(EventText(message));
        });
    return stream_ ? EventText(reply) : RpcText(reply);
  }
  void Cancel() override { cancel_.Cancel(); }

 private:
  const McpProtocol& protocol_;
  const ToolRun run_;
  const bool stream_;
  CallCancel cancel_;
};

// The calls of a batch, one after the other; the replies of all its messages
// are one array.
class BatchWork final : public HttpWork {
 public:
  BatchWork(const McpProtocol& protocol, std::vector<ToolRun> runs,
            Json replies, bool stream)
      : protocol_(protocol),
        runs_(std::move(runs)),
        replies_(std::move(replies)),
        stream_(stream) {}

  std::string Do(const Send& send) override {
    for (const ToolRun& run : runs_) {
      replies_.push_back(
          CarryOut(protocol_, run, cancel_, [&](const Json& message) {
            if (stream_) send(EventText(message));
          }));
    }
    return stream_ ? EventText(replies_) : RpcText(replies_);
  }
  void Cancel() override { cancel_.Cancel(); }

 private:
  const McpProtocol& protocol_;
  const std::vector<ToolRun> runs_;
  Json replies_;
  const bool stream_;
  CallCancel cancel_;
};

// Takes the same time however much of the token is right.
bool SameSecret(absl::string_view given, absl::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(secret[i % secret.size()]);
  }
  return difference == 0;
}

// Returns "127.0.0.1" for "127.0.0.1:80", "[::1]" for "[::1]:80".
absl::string_view WithoutPort(absl::string_view host) {
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  if (colon == absl::string_view::npos ||
      (bracket != absl::string_view::npos && colon < bracket)) {
    return host;
  }
  return host.substr(0, colon);
}

// Whether a page's origin is this machine itself.
bool IsLoopbackOrigin(absl::string_view origin) {
  if (!absl::ConsumePrefix(&origin, "http://") &&
      !absl::ConsumePrefix(&origin, "https://")) {
    return false;
  }
  return IsLoopbackHost(WithoutPort(origin));
}

// The media type without its parameters, in lower case.
std::string MediaType(absl::string_view text) {
  const absl::string_view type = text.substr(0, text.find(';'));
  return absl::AsciiStrToLower(absl::StripAsciiWhitespace(type));
}

struct Accepted {
  bool json = false;
  bool events = false;
};

Accepted AcceptedBy(const HttpRequest& request) {
  const auto [begin, end] = request.headers.equal_range("accept");
  Accepted accepted = {.json = begin == end, .events = false};
  for (auto header = begin; header != end; ++header) {
    for (const absl::string_view part : absl::StrSplit(header->second, ',')) {
      const std::string type = MediaType(part);
      accepted.json |= type == "application/json" || type == "application/*" ||
                       type == "*/*";
      accepted.events |= type == "text/event-stream" || type == "text/*";
    }
  }
  return accepted;
}

// Names that can't be in a header are sent as base64 of their UTF-8.
std::string DecodedHeader(const std::string& value) {
  absl::string_view inner = value;
  std::string decoded;
  if (absl::ConsumePrefix(&inner, "=?base64?") &&
      absl::ConsumeSuffix(&inner, "?=") &&
      absl::Base64Unescape(inner, &decoded)) {
    return decoded;
  }
  return value;
}

// Returns "the header X does not say what the body does"; empty when they
// agree.
std::string Compare(const HttpRequest& request, const char* header,
                    const Json& body) {
  const std::optional<std::string> value = request.Header(header);
  if (!value) {
    return absl::StrCat("the header ", header, " must be there once");
  }
  if (!body.is_string() || Json(DecodedHeader(*value)) != body) {
    return absl::StrCat("the header ", header,
                        " does not say what the body does");
  }
  return "";
}

int StatusOf(const Json& reply, bool modern) {
  const auto error = reply.find("error");
  if (error == reply.end()) return 200;
  // In earlier revisions, clients take a status for a statement about the
  // session.
  if (!modern) return 200;
  return error->value("code", 0) == kMethodNotFound ? 404 : 400;
}

// Why a request whose body doesn't state its revision is refused; code 0: it
// isn't.
RpcError LegacyProblem(const HttpRequest& request) {
  if (!request.headers.contains(kVersionHeader)) return {};
  const std::string version = request.Header(kVersionHeader).value_or("");
  if (McpProtocol::IsLegacyVersion(version)) return {};
  if (version != kModernVersion) {
    return McpProtocol::UnsupportedVersion(version);
  }
  return {kInvalidParams,
          absl::StrCat("params._meta[\"", kVersionMeta, "\"] is missing"),
          nullptr};
}

// In what a modern request's headers differ from its body; empty when they
// agree.
std::string HeaderMismatch(const HttpRequest& request,
                           const RpcMessage& message) {
  std::string problem =
      Compare(request, kVersionHeader, message.params["_meta"][kVersionMeta]);
  if (problem.empty()) problem = Compare(request, "mcp-method", message.method);
  if (problem.empty() && message.method == "tools/call") {
    problem =
        Compare(request, "mcp-name", message.params.value("name", Json()));
  }
  return problem;
}

}  // namespace

McpEndpoint::McpEndpoint(const McpProtocol& protocol, EndpointOptions options)
    : protocol_(protocol), options_(std::move(options)) {}

bool McpEndpoint::HasToken(const HttpRequest& request) const {
  if (options_.token.empty()) return true;
  const std::optional<std::string> header = request.Header("authorization");
  if (!header) return false;
  absl::string_view value = *header;
  if (!absl::StartsWithIgnoreCase(value, "bearer ")) return false;
  value.remove_prefix(sizeof("bearer ") - 1);
  return SameSecret(absl::StripAsciiWhitespace(value), options_.token);
}

std::optional<HttpResponse> McpEndpoint::Refusal(
    const HttpRequest& request) const {
  const std::optional<std::string> host = request.Header("host");
  if (request.headers.count("host") > 1) {
    return Words(400, "there are several Hosts");
  }
  if (options_.loopback_hosts_only &&
      (!host || !IsLoopbackHost(WithoutPort(*host)))) {
    return Words(421, "the Host must be localhost, 127.0.0.1 or [::1]");
  }
  if (request.headers.contains("origin") &&
      !IsLoopbackOrigin(request.Header("origin").value_or(""))) {
    return Words(403, "pages of this Origin may not call here");
  }
  if (!HasToken(request)) {
    return Words(401, "a bearer token is needed",
                 {{"WWW-Authenticate", "Bearer realm=\"sandglass\""}});
  }
  if (request.path != "/mcp") return Words(404, "MCP is at /mcp");
  if (request.method != "POST") {
    return Words(405, "only POST is served here", {{"Allow", "POST"}});
  }
  // Forms in web pages can't send this type without a preflight request.
  if (MediaType(request.Header("content-type").value_or("")) !=
      "application/json") {
    return Words(415, "the Content-Type must be application/json");
  }
  const Accepted accepted = AcceptedBy(request);
  if (!accepted.json && !accepted.events) {
    return Words(406, "accept application/json or text/event-stream");
  }
  return std::nullopt;
}

HttpResponse McpEndpoint::Failure(int status) const {
  if (status == 503) {
    return Words(503, "too many connections", {{"Retry-After", "1"}});
  }
  if (status != 413) return Words(status, "the request was not understood");
  return JsonResponse(
      413, ErrorReply(nullptr, {kParseError,
                                absl::StrCat("a message may have at most ",
                                             kMaxRpcBytes, " bytes"),
                                nullptr}));
}

HttpReply McpEndpoint::AnswerBatch(const HttpRequest& request,
                                   const RpcMessage& batch) const {
  if (const RpcError problem = LegacyProblem(request); problem.code != 0) {
    return {.response = JsonResponse(400, ErrorReply(nullptr, problem))};
  }
  Json replies = Json::array();
  std::vector<ToolRun> runs;
  for (const RpcMessage& part : batch.batch) {
    Handled handled = protocol_.HandlePart(part);
    if (!handled.reply.is_null()) replies.push_back(std::move(handled.reply));
    if (handled.run) runs.push_back(*std::move(handled.run));
  }
  if (runs.empty() && replies.empty()) return {.response = {.status = 202}};
  const bool stream = !AcceptedBy(request).json;
  HttpReply answer;
  answer.response = stream ? EventStream() : JsonResponse(200, nullptr);
  if (runs.empty()) {
    answer.response.body = stream ? EventText(replies) : RpcText(replies);
    return answer;
  }
  answer.work = std::make_unique<BatchWork>(protocol_, std::move(runs),
                                            std::move(replies), stream);
  if (stream) answer.filler = ": still running\n\n";
  return answer;
}

HttpReply McpEndpoint::Answer(const HttpRequest& request) const {
  const RpcMessage message = ParseRpcMessage(request.body);
  if (message.kind == RpcMessage::Kind::kBatch) {
    return AnswerBatch(request, message);
  }
  if (message.kind == RpcMessage::Kind::kBad) {
    return {.response =
                JsonResponse(400, ErrorReply(message.id, message.error))};
  }
  if (message.kind != RpcMessage::Kind::kRequest) {
    // A cancellation is ignored too: without sessions, its id may be that of
    // another client.
    return {.response = {.status = 202}};
  }
  const bool modern = McpProtocol::IsModern(message);
  RpcError problem = modern ? RpcError{} : LegacyProblem(request);
  if (modern) {
    std::string words = HeaderMismatch(request, message);
    if (!words.empty()) problem = {kHeaderMismatch, std::move(words), nullptr};
  }
  if (problem.code != 0) {
    return {.response = JsonResponse(400, ErrorReply(message.id, problem))};
  }
  Handled handled = protocol_.Handle(message);
  const Accepted accepted = AcceptedBy(request);
  if (handled.run) {
    const bool progress = !handled.run->progress_token.is_null();
    const bool stream = accepted.events && (progress || !accepted.json);
    return {.response = stream ? EventStream() : JsonResponse(200, nullptr),
            .work = std::make_unique<RunWork>(protocol_,
                                              *std::move(handled.run), stream),
            .filler = stream ? ": still running\n\n" : ""};
  }
  HttpReply answer;
  if (accepted.json) {
    answer.response =
        JsonResponse(StatusOf(handled.reply, modern), handled.reply);
  } else {
    answer.response = EventStream();
    answer.response.body = EventText(handled.reply);
  }
  return answer;
}

}  // namespace sandglass::client
