// Chat Completions, as defined by OpenAI and offered by many servers: the
// requests.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/llm/codec.h"
#include "client/llm/openai_chat_decoder.h"
#include "client/llm/turn_parts.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

json TextPart(std::string_view text) {
  return {{"type", "text"}, {"text", text}};
}

json ImagePart(const LlmImage& image) {
  return {{"type", "image_url"}, {"image_url", {{"url", DataUrl(image)}}}};
}

json UserMessage(json content) {
  return {{"role", "user"}, {"content", std::move(content)}};
}

// Results come first, in one message each, because nothing may stand between
// calls and results. Results can't have images, so a user's message shows
// those.
void AppendUser(const LlmMessage& message, json& messages) {
  json pictures = json::array();
  for (const LlmToolResult& result : message.results) {
    messages.push_back({{"role", "tool"},
                        {"tool_call_id", result.call_id},
                        {"content", result.text}});
    if (result.images.empty()) continue;
    pictures.push_back(
        TextPart(absl::StrCat("Images of the result of ", result.call_id)));
    for (const LlmImage& image : result.images) {
      pictures.push_back(ImagePart(image));
    }
  }
  if (!pictures.empty()) messages.push_back(UserMessage(std::move(pictures)));
  if (message.images.empty()) {
    // Not all servers accept an array where a text is sufficient.
    if (!message.text.empty()) messages.push_back(UserMessage(message.text));
    return;
  }
  json parts = json::array();
  if (!message.text.empty()) parts.push_back(TextPart(message.text));
  for (const LlmImage& image : message.images) {
    parts.push_back(ImagePart(image));
  }
  messages.push_back(UserMessage(std::move(parts)));
}

json ModelMessage(const LlmMessage& message) {
  json form = {{"role", "assistant"}, {"content", message.text}};
  if (message.calls.empty()) return form;
  if (message.text.empty()) form["content"] = nullptr;
  for (const LlmToolCall& call : message.calls) {
    form["tool_calls"].push_back(
        {{"id", call.id},
         {"type", "function"},
         {"function",
          {{"name", SafeToolName(call.name)},
           {"arguments", SafeArguments(call.arguments)}}}});
  }
  // DeepSeek wants its reasoning back while tools run, and others may not
  // have it otherwise.
  const json& reasoning = RawOf(message, kOpenAiChatRaw);
  if (reasoning.is_object()) form.update(reasoning);
  return form;
}

json ChatTool(const LlmTool& tool) {
  if (!tool.native.is_null()) return tool.native;
  return {{"type", "function"},
          {"function",
           {{"name", tool.name},
            {"description", tool.description},
            {"parameters", tool.parameters}}}};
}

class OpenAiChatCodec : public LlmCodec {
 public:
  explicit OpenAiChatCodec(std::string_view base_url)
      : new_name_(absl::StrContains(View(base_url), "//api.openai.com/")) {}

  std::string Url(std::string_view base_url) const override {
    return absl::StrCat(View(base_url), "/chat/completions");
  }

  std::vector<std::string> Headers(std::string_view api_key) const override {
    if (api_key.empty()) return {};
    return {absl::StrCat("Authorization: Bearer ", View(api_key))};
  }

  json Body(const LlmRequest& request) const override {
    json body = {{"model", request.model}, {"stream", true}};
    if (with_usage_) body["stream_options"] = {{"include_usage", true}};
    body[new_name_ ? "max_completion_tokens" : "max_tokens"] =
        request.max_tokens;
    json& messages = body["messages"] = json::array();
    if (!request.system.empty()) {
      messages.push_back({{"role", "system"}, {"content", request.system}});
    }
    for (const LlmMessage& message : request.messages) {
      if (message.role == LlmMessage::Role::kUser) {
        AppendUser(message, messages);
      } else {
        messages.push_back(ModelMessage(message));
      }
    }
    for (const LlmTool& tool : request.tools) {
      body["tools"].push_back(ChatTool(tool));
    }
    return body;
  }

  std::unique_ptr<TurnDecoder> Decoder(
      const LlmRequest& request, const LlmListener& listener) const override {
    return std::make_unique<OpenAiChatDecoder>(request, listener);
  }

  bool Adapt(std::string_view refusal) override {
    if (!new_name_ &&
        absl::StrContains(View(refusal), "max_completion_tokens")) {
      return new_name_ = true;
    }
    if (with_usage_ && absl::StrContains(View(refusal), "stream_options")) {
      with_usage_ = false;
      return true;
    }
    return false;
  }

 private:
  // Models that reason no longer accept max_tokens; other servers don't know
  // the new name.
  bool new_name_;
  bool with_usage_ = true;
};

}  // namespace

std::unique_ptr<LlmCodec> MakeOpenAiChatCodec(std::string_view base_url) {
  return std::make_unique<OpenAiChatCodec>(base_url);
}

}  // namespace sandglass::client
