#include "client/llm/openai_chat_decoder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/llm/json_value.h"
#include "client/llm/provider_error.h"
#include "client/llm/turn_parts.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

// The names for a model's thinking: that of DeepSeek and vLLM, and
// OpenRouter's.
constexpr std::string_view kThinking[] = {"reasoning_content", "reasoning"};

bool IsFailure(std::string_view reason) {
  return reason == "error" || reason == "abort" ||
         reason == "insufficient_system_resource";
}

LlmStop StopOf(std::string_view reason) {
  if (reason == "length") return LlmStop::kLength;
  if (reason == "content_filter") return LlmStop::kRefusal;
  return LlmStop::kEnd;
}

// Servers send errors in place of an event or an answer, with status 200.
std::optional<ProviderError> ErrorIn(std::string_view name, const json& event) {
  if (event.contains("choices") && JsonAt(event, "error").is_null()) {
    return std::nullopt;
  }
  std::optional<ProviderError> error = ReadProviderError(event);
  if (!error.has_value() && name == "error") {
    return ProviderError{DumpJson(event), {}};
  }
  return error;
}

}  // namespace

absl::Status OpenAiChatDecoder::OnEvent(std::string_view name,
                                        const json& event) {
  if (const auto error = ErrorIn(name, event); error.has_value()) {
    return StreamErrorStatus(*error);
  }
  OnUsage(JsonAt(event, "usage"));
  return OnChoice(JsonFirst(JsonAt(event, "choices")));
}

absl::Status OpenAiChatDecoder::OnBody(const json& body) {
  if (JsonFirst(JsonAt(body, "choices")).is_null() &&
      !ErrorIn("", body).has_value()) {
    return absl::DataLossError(absl::StrCat("the answer is not a completion: ",
                                            ShortWords(DumpJson(body), 100)));
  }
  if (absl::Status status = OnEvent("", body); !status.ok()) return status;
  done_ = true;
  return absl::OkStatus();
}

absl::Status OpenAiChatDecoder::OnChoice(const json& choice) {
  const json& delta = JsonAt(choice, "delta");
  if (absl::Status status =
          OnMessage(delta.is_null() ? JsonAt(choice, "message") : delta);
      !status.ok()) {
    return status;
  }
  const std::string_view reason = JsonText(choice, "finish_reason");
  if (reason.empty()) return absl::OkStatus();
  if (IsFailure(reason)) {
    return absl::UnavailableError(absl::StrCat(
        "the provider gave the answer up: ", ShortWords(reason, 80)));
  }
  turn_.stop_reason = ShortWords(reason, 80);
  turn_.stop = StopOf(reason);
  return absl::OkStatus();
}

absl::Status OpenAiChatDecoder::OnMessage(const json& message) {
  for (const std::string_view name : kThinking) {
    if (!HasText(message, name)) continue;
    OnThinking(name, JsonText(message, name));
    // Some servers send the same text under both names.
    break;
  }
  OnContent(JsonAt(message, "content"));
  if (const std::string_view refusal = JsonText(message, "refusal");
      !refusal.empty()) {
    refused_ = true;
    OnText(refusal);
  }
  absl::Status status = calls_.Add(JsonAt(message, "tool_calls"));
  begun_ = begun_ || !calls_.empty();
  return status;
}

void OpenAiChatDecoder::OnContent(const json& content) {
  if (content.is_string()) return OnText(content.get_ref<const std::string&>());
  if (!content.is_array()) return;
  // Mistral's form of content that contains thinking.
  for (const json& part : content) {
    OnText(JsonText(part, "text"));
    for (const json& thought : JsonAt(part, "thinking")) {
      NotifyListener(listener_.on_thinking, JsonText(thought, "text"));
    }
  }
}

void OpenAiChatDecoder::OnText(std::string_view text) {
  begun_ = begun_ || !text.empty();
  turn_.message.text += text;
  NotifyListener(listener_.on_text, text);
}

void OpenAiChatDecoder::OnThinking(std::string_view name,
                                   std::string_view text) {
  begun_ = true;
  json& kept = reasoning_[std::string(name)];
  if (!kept.is_string()) kept = "";
  kept.get_ref<std::string&>() += text;
  NotifyListener(listener_.on_thinking, text);
}

void OpenAiChatDecoder::OnUsage(const json& usage) {
  if (!usage.is_object()) return;
  turn_.usage.input_tokens = JsonNumber(usage, "prompt_tokens");
  turn_.usage.output_tokens = JsonNumber(usage, "completion_tokens");
  turn_.usage.cached_tokens = std::max(
      JsonNumber(JsonAt(usage, "prompt_tokens_details"), "cached_tokens"),
      JsonNumber(usage, "prompt_cache_hit_tokens"));
}

absl::StatusOr<LlmTurn> OpenAiChatDecoder::Finish() {
  if (!done_ && turn_.stop_reason.empty()) {
    return absl::AbortedError("the answer ended in its middle");
  }
  if (turn_.stop_reason.empty() && !begun_) {
    return absl::AbortedError("the answer is empty");
  }
  if (refused_) turn_.stop = LlmStop::kRefusal;
  turn_.message.calls = calls_.Collect();
  MakeIdsUnique(request_, turn_.message.calls);
  if (!reasoning_.is_null()) {
    turn_.message.raw = Raw(kOpenAiChatRaw, std::move(reasoning_));
  }
  SettleTurn(turn_);
  return std::move(turn_);
}

}  // namespace sandglass::client
