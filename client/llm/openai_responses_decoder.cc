#include "client/llm/openai_responses_decoder.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/llm/json_value.h"
#include "client/llm/provider_error.h"
#include "client/llm/turn_parts.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

// The texts in a message's content, including refusals.
std::string TextOf(const json& item) {
  std::string text;
  if (JsonText(item, "type") != "message") return text;
  for (const json& part : JsonAt(item, "content")) {
    text += JsonText(part, "text");
    text += JsonText(part, "refusal");
  }
  return text;
}

bool IsRefused(const json& item) {
  for (const json& part : JsonAt(item, "content")) {
    if (JsonText(part, "type") == "refusal") return true;
  }
  return false;
}

absl::Status Failed(const json& value) {
  const std::optional<ProviderError> error = ReadProviderError(value);
  return StreamErrorStatus(error.value_or(ProviderError{DumpJson(value), {}}));
}

}  // namespace

std::string_view ToolOfItem(const json& item) {
  const std::string_view type = JsonText(item, "type");
  if (type == "function_call") return JsonText(item, "name");
  if (type == "local_shell_call") return "local_shell";
  if (type == "shell_call") return "shell";
  return {};
}

absl::Status OpenAiResponsesDecoder::OnEvent(std::string_view name,
                                             const json& event) {
  const std::string_view type =
      HasText(event, "type") ? JsonText(event, "type") : name;
  if (type == "error" || !JsonAt(event, "error").is_null()) {
    return Failed(event);
  }
  const uint64_t index = JsonNumber(event, "output_index");
  if (type == "response.output_item.added") {
    return OnItem(index, JsonAt(event, "item"), false);
  }
  if (type == "response.output_item.done") {
    return OnItem(index, JsonAt(event, "item"), true);
  }
  if (type == "response.completed" || type == "response.incomplete" ||
      type == "response.failed") {
    return OnEnd(type, JsonAt(event, "response"));
  }
  Item* const item = Find(index);
  if (item == nullptr) return absl::OkStatus();
  if (type == "response.function_call_arguments.done") {
    item->arguments = JsonText(event, "arguments");
  } else {
    OnDelta(type, *item, JsonText(event, "delta"));
  }
  return absl::OkStatus();
}

void OpenAiResponsesDecoder::OnDelta(std::string_view type, Item& item,
                                     std::string_view delta) {
  if (type == "response.output_text.delta" ||
      type == "response.refusal.delta") {
    refused_ = refused_ || type == "response.refusal.delta";
    item.text += delta;
    begun_ = begun_ || !delta.empty();
    NotifyListener(listener_.on_text, delta);
  } else if (type == "response.reasoning_summary_text.delta" ||
             type == "response.reasoning_text.delta") {
    begun_ = begun_ || !delta.empty();
    NotifyListener(listener_.on_thinking, delta);
  } else if (type == "response.function_call_arguments.delta") {
    item.arguments += delta;
  }
}

absl::Status OpenAiResponsesDecoder::OnItem(uint64_t index, const json& value,
                                            bool done) {
  if (!value.is_object()) return absl::OkStatus();
  Item* item = Find(index);
  if (item == nullptr) {
    if (items_.size() >= kMaxParts) return TooManyParts();
    item = &items_.emplace_back();
    item->index = index;
  }
  item->value = value;
  item->done = done;
  begun_ = begun_ || !ToolOfItem(value).empty();
  if (done) HandleRest(*item);
  return absl::OkStatus();
}

void OpenAiResponsesDecoder::HandleRest(Item& item) {
  refused_ = refused_ || IsRefused(item.value);
  const std::string text = TextOf(item.value);
  if (!item.text.empty() || text.empty()) return;
  item.text = text;
  begun_ = true;
  NotifyListener(listener_.on_text, text);
}

OpenAiResponsesDecoder::Item* OpenAiResponsesDecoder::Find(uint64_t index) {
  for (Item& item : items_) {
    if (item.index == index) return &item;
  }
  return nullptr;
}

absl::Status OpenAiResponsesDecoder::OnBody(const json& body) {
  if (!JsonAt(body, "error").is_null()) return Failed(body);
  if (!JsonAt(body, "output").is_array()) {
    if (ReadProviderError(body).has_value()) return Failed(body);
    return absl::DataLossError(absl::StrCat("the answer is not a response: ",
                                            ShortWords(DumpJson(body), 100)));
  }
  return OnEnd(absl::StrCat("response.", View(JsonText(body, "status"))), body);
}

absl::Status OpenAiResponsesDecoder::OnEnd(std::string_view type,
                                           const json& response) {
  if (type == "response.failed" || !JsonAt(response, "error").is_null()) {
    return Failed(response);
  }
  uint64_t index = 0;
  for (const json& value : JsonAt(response, "output")) {
    const Item* const item = Find(index);
    if (item == nullptr || !item->done) {
      const bool whole = JsonText(value, "status") != "incomplete";
      if (absl::Status status = OnItem(index, value, whole); !status.ok()) {
        return status;
      }
    }
    ++index;
  }
  OnUsage(JsonAt(response, "usage"));
  turn_.stop_reason = "completed";
  if (type == "response.incomplete") {
    const std::string_view reason =
        JsonText(JsonAt(response, "incomplete_details"), "reason");
    turn_.stop_reason = reason.empty() ? "incomplete" : ShortWords(reason, 80);
    turn_.stop =
        reason == "content_filter" ? LlmStop::kRefusal : LlmStop::kLength;
  }
  done_ = true;
  return absl::OkStatus();
}

void OpenAiResponsesDecoder::OnUsage(const json& usage) {
  turn_.usage.input_tokens = JsonNumber(usage, "input_tokens");
  turn_.usage.output_tokens = JsonNumber(usage, "output_tokens");
  turn_.usage.cached_tokens =
      JsonNumber(JsonAt(usage, "input_tokens_details"), "cached_tokens");
}

void OpenAiResponsesDecoder::AddCall(Item& item) {
  LlmToolCall call;
  call.id = JsonText(item.value, "call_id");
  call.name = ToolOfItem(item.value);
  if (JsonText(item.value, "type") != "function_call") {
    call.arguments = DumpJson(JsonAt(item.value, "action"));
  } else {
    call.arguments = HasText(item.value, "arguments")
                         ? std::string(JsonText(item.value, "arguments"))
                         : item.arguments;
  }
  call.cut = !item.done || JsonText(item.value, "status") == "incomplete";
  turn_.message.calls.push_back(std::move(call));
}

absl::StatusOr<LlmTurn> OpenAiResponsesDecoder::Finish() {
  // The stream has to end with one of the events that contain the response.
  if (turn_.stop_reason.empty()) {
    return absl::AbortedError("the answer ended in its middle");
  }
  std::vector<LlmToolCall>& calls = turn_.message.calls;
  std::vector<size_t> places;  // indexes of the calls among the items
  json output = json::array();
  for (Item& item : items_) {
    if (!ToolOfItem(item.value).empty()) {
      places.push_back(output.size());
      AddCall(item);
    }
    turn_.message.text += item.text;
    output.push_back(std::move(item.value));
  }
  MakeIdsUnique(request_, calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    output[places[i]]["call_id"] = calls[i].id;
    if (output[places[i]]["type"] == "function_call") {
      output[places[i]]["arguments"] = SafeArguments(calls[i].arguments);
    }
  }
  if (refused_) turn_.stop = LlmStop::kRefusal;
  turn_.message.raw = Raw(kOpenAiResponsesRaw, std::move(output));
  SettleTurn(turn_);
  return std::move(turn_);
}

}  // namespace sandglass::client
