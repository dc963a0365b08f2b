#include "client/llm/turn_parts.h"

#include <set>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/llm/json_value.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

constexpr size_t kLongestId = 256;
constexpr size_t kLongestName = 64;

// Nine letters and digits: the only form that all servers accept.
std::string NewId() {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  thread_local absl::BitGen random;
  std::string id;
  for (int i = 0; i < 9; ++i) {
    id += kLetters[absl::Uniform<size_t>(random, 0, kLetters.size())];
  }
  return id;
}

}  // namespace

absl::Status TooManyParts() {
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has more than ", kMaxParts, " parts"));
}

void NotifyListener(const std::function<void(std::string_view)>& listener,
                    std::string_view text) {
  if (listener && !text.empty()) listener(text);
}

void MakeIdsUnique(const LlmRequest& request, std::vector<LlmToolCall>& calls) {
  if (calls.empty()) return;
  std::set<std::string> taken;
  for (const LlmMessage& message : request.messages) {
    for (const LlmToolCall& call : message.calls) taken.insert(call.id);
  }
  for (LlmToolCall& call : calls) {
    if (call.id.size() > kLongestId) call.id.clear();
    while (call.id.empty() || !taken.insert(call.id).second) call.id = NewId();
  }
}

std::string SafeToolName(std::string_view name) {
  std::string safe(name.substr(0, kLongestName));
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte) && c != '-') c = '_';
  }
  return safe.empty() ? "unnamed" : safe;
}

json ArgumentsObject(std::string_view arguments) {
  json value = ParseJson(arguments);
  return value.is_object() ? value : json::object();
}

std::string SafeArguments(std::string_view arguments) {
  return IsJsonObject(arguments) ? ValidUtf8(arguments) : "{}";
}

std::string DataUrl(const LlmImage& image) {
  return absl::StrCat("data:", image.mime_type, ";base64,",
                      absl::Base64Escape(image.bytes));
}

const json& RawOf(const LlmMessage& message, std::string_view codec) {
  static const json* const kNull = new json();
  if (JsonText(message.raw, "codec") != codec) return *kNull;
  return JsonAt(message.raw, "value");
}

json Raw(std::string_view codec, json value) {
  return json{{"codec", codec}, {"value", std::move(value)}};
}

void SettleTurn(LlmTurn& turn) {
  LlmMessage& message = turn.message;
  message.role = LlmMessage::Role::kModel;
  if (message.calls.empty()) return;
  if (turn.stop == LlmStop::kRefusal) {
    // The provider would expect results for them, and the filter may have cut
    // anything.
    message.calls.clear();
    message.raw = nullptr;
    return;
  }
  if (turn.stop == LlmStop::kLength) {
    for (LlmToolCall& call : message.calls) {
      if (!IsJsonObject(call.arguments)) call.cut = true;
    }
  }
  for (LlmToolCall& call : message.calls) {
    if (call.arguments.empty()) call.arguments = "{}";
  }
  turn.stop = LlmStop::kTools;
}

}  // namespace sandglass::client
