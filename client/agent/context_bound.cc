#include "client/agent/context_bound.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/utf8_check.h"

namespace sandglass::client {
namespace {

constexpr uint64_t kBytesOfToken = 4;
constexpr uint64_t kTokensOfImage = 1500;
constexpr size_t kShortResult = 400;
constexpr char kCutMark[] = "[An old result, cut to save room. It began:]\n";
constexpr char kGoneMark[] =
    "[The beginning of this conversation was left out to save room.]";

uint64_t Total(const std::vector<LlmMessage>& messages) {
  uint64_t tokens = 0;
  for (const LlmMessage& message : messages) tokens += EstimateTokens(message);
  return tokens;
}

// True for a message that a person wrote, rather than a tool's results.
bool BeginsTurn(const LlmMessage& message) {
  return message.role == LlmMessage::Role::kUser && message.results.empty();
}

size_t LastTurn(const std::vector<LlmMessage>& messages) {
  size_t last = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (BeginsTurn(messages[i])) last = i;
  }
  return last;
}

bool Shorten(LlmToolResult& result) {
  const bool had_images = !result.images.empty();
  result.images.clear();
  if (result.text.size() <= kShortResult + sizeof(kCutMark) ||
      absl::StartsWith(result.text, kCutMark)) {
    return had_images;
  }
  result.text = absl::StrCat(
      kCutMark,
      result.text.substr(0, WholeCharacters(result.text, kShortResult)));
  return true;
}

}  // namespace

uint64_t EstimateTokens(const LlmMessage& message) {
  uint64_t bytes = message.text.size();
  uint64_t images = message.images.size();
  for (const LlmToolCall& call : message.calls) {
    bytes += call.name.size() + call.arguments.size();
  }
  for (const LlmToolResult& result : message.results) {
    bytes += result.text.size();
    images += result.images.size();
  }
  // It is sent in place of text and calls, and contains more than those.
  if (!message.raw.is_null()) {
    const std::string raw = message.raw.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
    bytes = std::max<uint64_t>(bytes, raw.size());
  }
  return bytes / kBytesOfToken + images * kTokensOfImage + 4;
}

bool KeepWithin(uint64_t max_tokens, std::vector<LlmMessage>& messages) {
  uint64_t tokens = Total(messages);
  bool cut = false;
  // The model is working with the newest results now.
  const size_t newest = messages.empty() ? 0 : messages.size() - 1;
  for (size_t i = 0; i < newest && tokens > max_tokens; ++i) {
    const uint64_t before = EstimateTokens(messages[i]);
    bool shortened = false;
    for (LlmToolResult& result : messages[i].results) {
      shortened = Shorten(result) || shortened;
    }
    if (!shortened) continue;
    cut = true;
    tokens -= std::min(tokens, before - EstimateTokens(messages[i]));
  }
  while (tokens > max_tokens && LastTurn(messages) > 0) {
    const auto next =
        std::find_if(messages.begin() + 1, messages.end(), BeginsTurn);
    messages.erase(messages.begin(), next);
    if (!absl::StartsWith(messages.front().text, kGoneMark)) {
      messages.front().text =
          absl::StrCat(kGoneMark, "\n\n", messages.front().text);
    }
    cut = true;
    tokens = Total(messages);
  }
  return cut;
}

}  // namespace sandglass::client
