// Anthropic's Messages API: the requests.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/llm/anthropic_decoder.h"
#include "client/llm/codec.h"
#include "client/llm/json_value.h"
#include "client/llm/turn_parts.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

// Ids of other providers contain characters that this one refuses.
std::string SafeId(std::string_view id) {
  std::string safe(id);
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte) && c != '-') c = '_';
  }
  return safe;
}

// Text that consists only of white space is refused.
void AppendText(std::string_view text, json& blocks) {
  if (absl::StripAsciiWhitespace(View(text)).empty()) return;
  blocks.push_back({{"type", "text"}, {"text", text}});
}

void AppendImages(const std::vector<LlmImage>& images, json& blocks) {
  for (const LlmImage& image : images) {
    blocks.push_back({{"type", "image"},
                      {"source",
                       {{"type", "base64"},
                        {"media_type", image.mime_type},
                        {"data", absl::Base64Escape(image.bytes)}}}});
  }
}

json ResultBlock(const LlmToolResult& result) {
  json content = json::array();
  AppendText(result.text, content);
  AppendImages(result.images, content);
  json block = {{"type", "tool_result"},
                {"tool_use_id", SafeId(result.call_id)},
                {"content", std::move(content)}};
  if (result.is_error) block["is_error"] = true;
  return block;
}

json UserContent(const LlmMessage& message) {
  json content = json::array();
  for (const LlmToolResult& result : message.results) {
    content.push_back(ResultBlock(result));
  }
  AppendImages(message.images, content);
  AppendText(message.text, content);
  return content;
}

json ModelContent(const LlmMessage& message) {
  json content = json::array();
  const json& raw = RawOf(message, kAnthropicRaw);
  if (raw.is_array()) {
    for (const json& block : raw) {
      const bool is_text = JsonText(block, "type") == "text";
      if (is_text &&
          absl::StripAsciiWhitespace(View(JsonText(block, "text"))).empty()) {
        continue;
      }
      content.push_back(block);
    }
    return content;
  }
  AppendText(message.text, content);
  for (const LlmToolCall& call : message.calls) {
    content.push_back({{"type", "tool_use"},
                       {"id", SafeId(call.id)},
                       {"name", SafeToolName(call.name)},
                       {"input", ArgumentsObject(call.arguments)}});
  }
  return content;
}

// The next time, the provider reads what precedes the mark from its cache.
void MarkForCache(json& block) {
  block["cache_control"] = {{"type", "ephemeral"}};
}

// Thinking blocks can't have the mark.
void MarkLastMessage(json& messages) {
  if (messages.empty() || messages.back()["role"] != "user") return;
  MarkForCache(messages.back()["content"].back());
}

json AnthropicTool(const LlmTool& tool) {
  if (!tool.native.is_null()) return tool.native;
  return {{"name", tool.name},
          {"description", tool.description},
          {"input_schema", tool.parameters}};
}

class AnthropicCodec : public LlmCodec {
 public:
  std::string Url(std::string_view base_url) const override {
    return absl::StrCat(View(base_url), base_url.ends_with("/v1") ? "" : "/v1",
                        "/messages");
  }

  std::vector<std::string> Headers(std::string_view api_key) const override {
    std::vector<std::string> headers = {"anthropic-version: 2023-06-01"};
    if (api_key.empty()) return headers;
    headers.push_back(absl::StrCat("x-api-key: ", View(api_key)));
    return headers;
  }

  json Body(const LlmRequest& request) const override {
    json body = {{"model", request.model},
                 {"max_tokens", request.max_tokens},
                 {"stream", true}};
    json system = json::array();
    AppendText(request.system, system);
    if (!system.empty()) {
      MarkForCache(system.back());
      body["system"] = std::move(system);
    }
    json& messages = body["messages"] = json::array();
    for (const LlmMessage& message : request.messages) {
      const bool is_user = message.role == LlmMessage::Role::kUser;
      json content = is_user ? UserContent(message) : ModelContent(message);
      if (content.empty()) continue;
      messages.push_back({{"role", is_user ? "user" : "assistant"},
                          {"content", std::move(content)}});
    }
    MarkLastMessage(messages);
    for (const LlmTool& tool : request.tools) {
      body["tools"].push_back(AnthropicTool(tool));
    }
    if (!request.tools.empty()) MarkForCache(body["tools"].back());
    return body;
  }

  std::unique_ptr<TurnDecoder> Decoder(
      const LlmRequest& request, const LlmListener& listener) const override {
    return std::make_unique<AnthropicDecoder>(request, listener);
  }

  bool Adapt(std::string_view) override { return false; }
};

}  // namespace

std::unique_ptr<LlmCodec> MakeAnthropicCodec() {
  return std::make_unique<AnthropicCodec>();
}

}  // namespace sandglass::client
