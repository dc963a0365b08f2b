#include "client/mcp/mcp_protocol.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/connection/traceparent.h"

namespace sandglass::client {
namespace {

// The newest comes first.
constexpr std::array<const char*, 4> kLegacyVersions = {
    "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

constexpr char kCapabilitiesMeta[] =
    "io.modelcontextprotocol/clientCapabilities";
constexpr char kServerInfoMeta[] = "io.modelcontextprotocol/serverInfo";

// How long a modern client may keep a list, in ms. The only thing in it that
// may change is whether the profile has a network.
constexpr int kListTtlMs = 60'000;
constexpr int kDiscoverTtlMs = 3'600'000;

constexpr char kInstructions[] =
    "Runs code and commands in sandboxes on this machine. run_code alone is "
    "enough for one program: it gets a fresh sandbox that is gone afterwards. "
    "To keep files and variables between calls, make a sandbox with "
    "create_sandbox and pass its sandbox_id to the other tools.";

Json ServerInfo() {
  return {{"name", "sandglass"},
          {"title", "Sandglass"},
          {"version", SANDGLASS_VERSION}};
}

Json Capabilities() { return {{"tools", Json::object()}}; }

Handled Reply(Json reply) {
  Handled handled;
  handled.reply = std::move(reply);
  return handled;
}

Handled Refuse(const RpcMessage& request, int code, std::string words) {
  return Reply(ErrorReply(request.id, {code, std::move(words), nullptr}));
}

// Adds to a result what a modern client expects in each.
Json Dress(Json result, bool modern) {
  if (modern) {
    result["resultType"] = "complete";
    result["_meta"][kServerInfoMeta] = ServerInfo();
  }
  return result;
}

Handled UnknownMethod(const RpcMessage& request) {
  return Refuse(
      request, kMethodNotFound,
      absl::StrCat("there is no method '", VisibleText(request.method), "'"));
}

Handled Initialize(const RpcMessage& request) {
  const auto version = request.params.find("protocolVersion");
  if (version == request.params.end() || !version->is_string()) {
    return Refuse(request, kInvalidParams, "protocolVersion must be a string");
  }
  const std::string& asked = version->get_ref<const std::string&>();
  // A client that asks for another revision gets the newest one with a
  // handshake, and decides whether it can go on.
  return Reply(ResultReply(
      request.id,
      {{"protocolVersion", McpProtocol::IsLegacyVersion(asked)
                               ? asked
                               : std::string(kLegacyVersions.front())},
       {"capabilities", Capabilities()},
       {"serverInfo", ServerInfo()},
       {"instructions", kInstructions}}));
}

Handled Discover(const RpcMessage& request) {
  Json versions = Json::array({kModernVersion});
  for (const char* version : kLegacyVersions) versions.push_back(version);
  return Reply(ResultReply(request.id, Dress({{"supportedVersions", versions},
                                              {"capabilities", Capabilities()},
                                              {"instructions", kInstructions},
                                              {"ttlMs", kDiscoverTtlMs},
                                              {"cacheScope", "public"}},
                                             /*modern=*/true)));
}

Json ToolJson(const McpTool& tool, bool has_network) {
  Json annotations = {{"readOnlyHint", tool.read_only},
                      {"openWorldHint", tool.runs_programs && has_network}};
  // It only has a meaning for tools that change something.
  if (!tool.read_only) annotations["destructiveHint"] = tool.destructive;
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", tool.input_schema},
          {"annotations", std::move(annotations)}};
}

const Json* MetaOf(const RpcMessage& message) {
  const auto meta = message.params.find("_meta");
  return meta != message.params.end() && meta->is_object() ? &*meta : nullptr;
}

Json ProgressTokenOf(const RpcMessage& request) {
  const Json* meta = MetaOf(request);
  if (meta == nullptr) return nullptr;
  const auto token = meta->find("progressToken");
  if (token == meta->end() ||
      (!token->is_string() && !token->is_number_integer())) {
    return nullptr;
  }
  return *token;
}

// A malformed one starts no trace, but isn't an error.
std::string TraceparentOf(const RpcMessage& request) {
  const Json* meta = MetaOf(request);
  if (meta == nullptr) return "";
  const auto found = meta->find(kTraceparent);
  if (found == meta->end() || !found->is_string()) return "";
  const std::string& text = found->get_ref<const std::string&>();
  return IsTraceparent(text) ? text : "";
}

}  // namespace

McpProtocol::McpProtocol(ToolTable tools) : tools_(std::move(tools)) {}

bool McpProtocol::IsModern(const RpcMessage& message) {
  const Json* meta = MetaOf(message);
  return meta != nullptr && meta->contains(kVersionMeta);
}

bool McpProtocol::IsLegacyVersion(const std::string& version) {
  return std::find(kLegacyVersions.begin(), kLegacyVersions.end(), version) !=
         kLegacyVersions.end();
}

RpcError McpProtocol::UnsupportedVersion(const std::string& requested) {
  Json supported = Json::array({kModernVersion});
  // Revisions with a handshake can't be chosen by a request alone.
  if (!IsLegacyVersion(requested)) {
    for (const char* version : kLegacyVersions) supported.push_back(version);
  }
  return {kUnsupportedVersion,
          absl::StrCat("the protocol version '", VisibleText(requested),
                       "' is not supported in this way"),
          {{"supported", std::move(supported)}, {"requested", requested}}};
}

Handled McpProtocol::Handle(const RpcMessage& message) const {
  switch (message.kind) {
    case RpcMessage::Kind::kBad:
      return message.owed_reply ? Reply(ErrorReply(message.id, message.error))
                                : Handled();
    case RpcMessage::Kind::kResponse:
    case RpcMessage::Kind::kBatch:
      return {};
    case RpcMessage::Kind::kNotification: {
      Handled handled;
      if (message.method == "notifications/cancelled") {
        handled.cancel = message.params.value("requestId", Json());
      }
      return handled;
    }
    case RpcMessage::Kind::kRequest:
      return IsModern(message) ? HandleModern(message) : HandleLegacy(message);
  }
  return {};
}

Handled McpProtocol::HandlePart(const RpcMessage& message) const {
  if (message.kind == RpcMessage::Kind::kRequest &&
      (IsModern(message) || message.method == "initialize")) {
    return Refuse(message, kInvalidRequest,
                  "this may not be in a batch; send it by itself");
  }
  return Handle(message);
}

Handled McpProtocol::HandleModern(const RpcMessage& request) const {
  const Json& meta = *MetaOf(request);
  const Json& version = meta[kVersionMeta];
  if (!version.is_string()) {
    return Refuse(
        request, kInvalidParams,
        absl::StrCat("_meta[\"", kVersionMeta, "\"] must be a string"));
  }
  if (version != kModernVersion) {
    return Reply(
        ErrorReply(request.id, UnsupportedVersion(version.get<std::string>())));
  }
  const auto capabilities = meta.find(kCapabilitiesMeta);
  if (capabilities == meta.end() || !capabilities->is_object()) {
    return Refuse(
        request, kInvalidParams,
        absl::StrCat("_meta[\"", kCapabilitiesMeta, "\"] must be an object"));
  }
  if (request.method == "server/discover") return Discover(request);
  if (request.method == "tools/list") return ListTools(request, true);
  if (request.method == "tools/call") return CallTool(request, true);
  return UnknownMethod(request);
}

Handled McpProtocol::HandleLegacy(const RpcMessage& request) const {
  if (request.method == "initialize") return Initialize(request);
  if (request.method == "ping") {
    return Reply(ResultReply(request.id, Json::object()));
  }
  if (request.method == "tools/list") return ListTools(request, false);
  if (request.method == "tools/call") return CallTool(request, false);
  if (request.method == "server/discover") {
    return Refuse(request, kInvalidParams,
                  absl::StrCat("_meta[\"", kVersionMeta, "\"] is missing"));
  }
  return UnknownMethod(request);
}

Handled McpProtocol::ListTools(const RpcMessage& request, bool modern) const {
  const auto cursor = request.params.find("cursor");
  if (cursor != request.params.end() && !cursor->is_null()) {
    return Refuse(request, kInvalidParams,
                  "cursor: none was given out, the list is in one piece");
  }
  const bool has_network = tools_.has_network && tools_.has_network();
  Json list = Json::array();
  for (const McpTool& tool : tools_.tools) {
    list.push_back(ToolJson(tool, has_network));
  }
  Json result = {{"tools", std::move(list)}};
  if (modern) {
    result["ttlMs"] = kListTtlMs;
    result["cacheScope"] = "private";
  }
  return Reply(ResultReply(request.id, Dress(std::move(result), modern)));
}

Handled McpProtocol::CallTool(const RpcMessage& request, bool modern) const {
  const auto name = request.params.find("name");
  if (name == request.params.end() || !name->is_string()) {
    return Refuse(request, kInvalidParams, "name must be a string");
  }
  ToolRun run;
  run.id = request.id;
  run.tool = tools_.Find(name->get<std::string>());
  if (run.tool == nullptr) {
    return Refuse(request, kInvalidParams,
                  absl::StrCat("there is no tool '",
                               VisibleText(name->get<std::string>()), "'"));
  }
  const auto arguments = request.params.find("arguments");
  if (arguments != request.params.end() && !arguments->is_null()) {
    if (!arguments->is_object()) {
      return Refuse(request, kInvalidParams, "arguments must be an object");
    }
    run.arguments = *arguments;
  }
  run.progress_token = ProgressTokenOf(request);
  run.traceparent = TraceparentOf(request);
  run.modern = modern;
  Handled handled;
  handled.run = std::move(run);
  return handled;
}

Json McpProtocol::Finished(const ToolRun& run, const ToolAnswer& answer) const {
  // Only text is sent, which says everything: when there is also a structured
  // form, some clients show a model only that.
  Json content = Json::array();
  content.push_back({{"type", "text"}, {"text", answer.text}});
  for (const ToolImage& image : answer.images) {
    content.push_back({{"type", "image"},
                       {"data", absl::Base64Escape(image.bytes)},
                       {"mimeType", image.mime_type}});
  }
  return ResultReply(run.id, Dress({{"content", std::move(content)},
                                    {"isError", answer.is_error}},
                                   run.modern));
}

Json McpProtocol::Progress(const ToolRun& run, double progress,
                           const std::string& words) {
  Json params = {{"progressToken", run.progress_token}, {"progress", progress}};
  if (!words.empty()) params["message"] = words;
  return {{"jsonrpc", "2.0"},
          {"method", "notifications/progress"},
          {"params", std::move(params)}};
}

}  // namespace sandglass::client
