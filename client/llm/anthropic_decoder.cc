#include "client/llm/anthropic_decoder.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/llm/json_value.h"
#include "client/llm/provider_error.h"
#include "client/llm/turn_parts.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

LlmStop StopOf(std::string_view reason) {
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") {
    return LlmStop::kLength;
  }
  if (reason == "refusal") return LlmStop::kRefusal;
  if (reason == "pause_turn") return LlmStop::kPause;
  return LlmStop::kEnd;
}

bool HasInput(const json& block) {
  return JsonText(block, "type").ends_with("tool_use");
}

}  // namespace

absl::Status AnthropicDecoder::OnEvent(std::string_view name,
                                       const json& event) {
  const std::string_view type =
      HasText(event, "type") ? JsonText(event, "type") : name;
  if (type == "error" || !JsonAt(event, "error").is_null()) {
    const std::optional<ProviderError> error = ReadProviderError(event);
    return StreamErrorStatus(
        error.value_or(ProviderError{DumpJson(event), {}}));
  }
  const uint64_t index = JsonNumber(event, "index");
  if (type == "message_start") {
    OnUsage(JsonAt(event, "message", "usage"));
  } else if (type == "content_block_start") {
    return OnBlockStart(index, JsonAt(event, "content_block"));
  } else if (type == "content_block_delta") {
    Block* block = Find(index);
    if (block != nullptr) OnBlockDelta(*block, JsonAt(event, "delta"));
  } else if (type == "content_block_stop") {
    Block* block = Find(index);
    if (block != nullptr) block->stopped = true;
  } else if (type == "message_delta") {
    OnUsage(JsonAt(event, "usage"));
    OnStop(JsonAt(event, "delta"));
  } else if (type == "message_stop") {
    done_ = true;
  }
  return absl::OkStatus();
}

absl::Status AnthropicDecoder::OnBody(const json& body) {
  if (!JsonAt(body, "content").is_array()) {
    const std::optional<ProviderError> error = ReadProviderError(body);
    if (error.has_value()) return StreamErrorStatus(*error);
    return absl::DataLossError(absl::StrCat("the answer is not a message: ",
                                            ShortWords(DumpJson(body), 100)));
  }
  uint64_t index = 0;
  for (const json& block : JsonAt(body, "content")) {
    if (absl::Status status = OnBlockStart(index++, block); !status.ok()) {
      return status;
    }
    if (!blocks_.empty()) blocks_.back().stopped = true;
  }
  OnUsage(JsonAt(body, "usage"));
  OnStop(body);
  done_ = true;
  return absl::OkStatus();
}

absl::Status AnthropicDecoder::OnBlockStart(uint64_t index, const json& value) {
  if (!value.is_object()) return absl::OkStatus();
  if (blocks_.size() >= kMaxParts) return TooManyParts();
  blocks_.push_back({index, value, {}, false});
  HandleDelta(value);
  return absl::OkStatus();
}

void AnthropicDecoder::HandleDelta(const json& value) {
  const std::string_view text = JsonText(value, "text");
  const std::string_view thinking = JsonText(value, "thinking");
  const std::string_view type = JsonText(value, "type");
  begun_ = begun_ || !text.empty() || !thinking.empty() ||
           (type != "text" && type != "thinking");
  if (type == "text") NotifyListener(listener_.on_text, text);
  if (type == "thinking") NotifyListener(listener_.on_thinking, thinking);
}

void AnthropicDecoder::OnBlockDelta(Block& block, const json& delta) {
  const std::string_view type = JsonText(delta, "type");
  if (type == "text_delta") {
    Extend(block, "text", JsonText(delta, "text"));
    NotifyListener(listener_.on_text, JsonText(delta, "text"));
  } else if (type == "thinking_delta") {
    Extend(block, "thinking", JsonText(delta, "thinking"));
    NotifyListener(listener_.on_thinking, JsonText(delta, "thinking"));
  } else if (type == "signature_delta") {
    Extend(block, "signature", JsonText(delta, "signature"));
  } else if (type == "input_json_delta") {
    block.partial += JsonText(delta, "partial_json");
  } else if (type == "citations_delta") {
    json& citations = block.value["citations"];
    if (!citations.is_array()) citations = json::array();
    citations.push_back(JsonAt(delta, "citation"));
  }
}

void AnthropicDecoder::Extend(Block& block, const char* name,
                              std::string_view text) {
  begun_ = begun_ || !text.empty();
  json& kept = block.value[name];
  if (!kept.is_string()) kept = "";
  kept.get_ref<std::string&>() += text;
}

AnthropicDecoder::Block* AnthropicDecoder::Find(uint64_t index) {
  for (size_t i = blocks_.size(); i > 0; --i) {
    if (blocks_[i - 1].index == index) return &blocks_[i - 1];
  }
  return nullptr;
}

void AnthropicDecoder::OnStop(const json& message) {
  const std::string_view reason = JsonText(message, "stop_reason");
  if (reason.empty()) return;
  turn_.stop_reason = ShortWords(reason, 80);
  turn_.stop = StopOf(reason);
}

// message_delta repeats what message_start said, or has only what changed.
void AnthropicDecoder::OnUsage(const json& usage) {
  const auto update = [&](const char* name, uint64_t& number) {
    if (JsonAt(usage, name).is_number()) number = JsonNumber(usage, name);
  };
  update("input_tokens", fresh_tokens_);
  update("cache_creation_input_tokens", written_tokens_);
  update("cache_read_input_tokens", turn_.usage.cached_tokens);
  update("output_tokens", turn_.usage.output_tokens);
  turn_.usage.input_tokens =
      fresh_tokens_ + written_tokens_ + turn_.usage.cached_tokens;
}

void AnthropicDecoder::AddCall(Block& block) {
  LlmToolCall call;
  call.id = JsonText(block.value, "id");
  call.name = JsonText(block.value, "name");
  call.arguments = block.partial;
  if (block.partial.empty() && block.stopped) {
    call.arguments = DumpJson(block.value["input"]);
  }
  call.cut = !block.stopped;
  turn_.message.calls.push_back(std::move(call));
}

absl::StatusOr<LlmTurn> AnthropicDecoder::Finish() {
  if (!done_ && turn_.stop_reason.empty()) {
    return absl::AbortedError("the answer ended in its middle");
  }
  json content = json::array();
  std::vector<size_t> places;  // indexes of the calls in the content
  for (Block& block : blocks_) {
    if (HasInput(block.value)) {
      json& input = block.value["input"];
      if (!input.is_object()) input = json::object();
      if (JsonText(block.value, "type") == "tool_use") {
        places.push_back(content.size());
        AddCall(block);
      }
      if (!block.partial.empty()) input = ArgumentsObject(block.partial);
    }
    if (JsonText(block.value, "type") == "text") {
      turn_.message.text += JsonText(block.value, "text");
    }
    content.push_back(std::move(block.value));
  }
  std::vector<LlmToolCall>& calls = turn_.message.calls;
  MakeIdsUnique(request_, calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    content[places[i]]["id"] = calls[i].id;
  }
  turn_.message.raw = Raw(kAnthropicRaw, std::move(content));
  SettleTurn(turn_);
  return std::move(turn_);
}

}  // namespace sandglass::client
