// OpenAI's Responses API: the requests. The provider stores nothing: each
// request contains the whole conversation.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/llm/codec.h"
#include "client/llm/json_value.h"
#include "client/llm/openai_responses_decoder.h"
#include "client/llm/turn_parts.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

json InputText(std::string_view text) {
  return {{"type", "input_text"}, {"text", text}};
}

json InputImage(const LlmImage& image) {
  return {{"type", "input_image"}, {"image_url", DataUrl(image)}};
}

// Converts a conversation to items.
class Input {
 public:
  void Add(const LlmMessage& message) {
    if (message.role == LlmMessage::Role::kUser) return AddUser(message);
    const json& raw = RawOf(message, kOpenAiResponsesRaw);
    if (raw.is_array()) return AddRaw(raw);
    AddModel(message);
  }
  json Collect() { return std::move(items_); }

 private:
  void AddUser(const LlmMessage& message) {
    json parts = json::array();
    for (const LlmToolResult& result : message.results) {
      items_.push_back(Result(result));
      if (result.images.empty()) continue;
      parts.push_back(
          InputText(absl::StrCat("Images of the result of ", result.call_id)));
      for (const LlmImage& image : result.images) {
        parts.push_back(InputImage(image));
      }
    }
    if (!message.text.empty()) parts.push_back(InputText(message.text));
    for (const LlmImage& image : message.images) {
      parts.push_back(InputImage(image));
    }
    if (parts.empty()) return;
    items_.push_back({{"role", "user"}, {"content", std::move(parts)}});
  }

  // The form of a result depends on that of its call.
  json Result(const LlmToolResult& result) const {
    const auto type = types_.find(result.call_id);
    if (type != types_.end() && type->second == "local_shell_call") {
      return {{"type", "local_shell_call_output"},
              {"id", result.call_id},
              {"output", result.text}};
    }
    if (type != types_.end() && type->second == "shell_call") {
      const json outcome = {{"type", "exit"},
                            {"exit_code", result.is_error ? 1 : 0}};
      const json output = {
          {"stdout", result.text}, {"stderr", ""}, {"outcome", outcome}};
      return {{"type", "shell_call_output"},
              {"call_id", result.call_id},
              {"output", json::array({output})}};
    }
    return {{"type", "function_call_output"},
            {"call_id", result.call_id},
            {"output", result.text}};
  }

  void AddRaw(const json& items) {
    for (const json& item : items) {
      // Without the encrypted content, the provider would look for reasoning
      // that it hasn't stored.
      if (JsonText(item, "type") == "reasoning" &&
          !HasText(item, "encrypted_content")) {
        continue;
      }
      types_[std::string(JsonText(item, "call_id"))] = JsonText(item, "type");
      items_.push_back(item);
    }
  }

  void AddModel(const LlmMessage& message) {
    if (!message.text.empty()) {
      const json part = {{"type", "output_text"}, {"text", message.text}};
      items_.push_back(
          {{"role", "assistant"}, {"content", json::array({part})}});
    }
    for (const LlmToolCall& call : message.calls) {
      items_.push_back({{"type", "function_call"},
                        {"call_id", call.id},
                        {"name", SafeToolName(call.name)},
                        {"arguments", SafeArguments(call.arguments)}});
    }
  }

  json items_ = json::array();
  std::map<std::string, std::string, std::less<>> types_;  // by the call's id
};

json ResponsesTool(const LlmTool& tool) {
  if (!tool.native.is_null()) return tool.native;
  return {{"type", "function"},
          {"name", tool.name},
          {"description", tool.description},
          {"parameters", tool.parameters},
          {"strict", false}};
}

class OpenAiResponsesCodec : public LlmCodec {
 public:
  std::string Url(std::string_view base_url) const override {
    return absl::StrCat(View(base_url), "/responses");
  }

  std::vector<std::string> Headers(std::string_view api_key) const override {
    if (api_key.empty()) return {};
    return {absl::StrCat("Authorization: Bearer ", View(api_key))};
  }

  json Body(const LlmRequest& request) const override {
    json body = {{"model", request.model},
                 {"stream", true},
                 {"store", false},
                 {"max_output_tokens", request.max_tokens}};
    if (with_reasoning_) {
      body["include"] = json::array({"reasoning.encrypted_content"});
    }
    if (!request.system.empty()) body["instructions"] = request.system;
    Input input;
    for (const LlmMessage& message : request.messages) input.Add(message);
    body["input"] = input.Collect();
    for (const LlmTool& tool : request.tools) {
      body["tools"].push_back(ResponsesTool(tool));
    }
    return body;
  }

  std::unique_ptr<TurnDecoder> Decoder(
      const LlmRequest& request, const LlmListener& listener) const override {
    return std::make_unique<OpenAiResponsesDecoder>(request, listener);
  }

  bool Adapt(std::string_view refusal) override {
    // Models that don't reason don't have this field.
    if (!with_reasoning_ || !absl::StrContains(View(refusal), "ncrypted")) {
      return false;
    }
    with_reasoning_ = false;
    return true;
  }

 private:
  bool with_reasoning_ = true;
};

}  // namespace

std::unique_ptr<LlmCodec> MakeOpenAiResponsesCodec() {
  return std::make_unique<OpenAiResponsesCodec>();
}

}  // namespace sandglass::client
