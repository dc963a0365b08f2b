#ifndef SANDGLASS_CLIENT_LLM_LLM_EVENT_H_
#define SANDGLASS_CLIENT_LLM_LLM_EVENT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace sandglass::client {

// A conversation, as all providers have it. Each codec makes its provider's
// form of it anew for each request.

struct LlmTool {
  std::string name;
  std::string description;
  nlohmann::json parameters;  // a JSON schema: an object
  // The provider's own form of it, such as Anthropic's bash_20250124, in place
  // of the three above; null: none.
  nlohmann::json native;
};

struct LlmImage {
  std::string mime_type;
  std::string bytes;  // not base64
};

struct LlmToolCall {
  // Unique in the conversation, never empty: made by the codec where the
  // provider's is not.
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as the model wrote it; maybe not JSON
  // The stream ended within the arguments, so they must not be run.
  bool cut = false;
};

struct LlmToolResult {
  std::string call_id;
  std::string text;
  bool is_error = false;
  std::vector<LlmImage> images;
};

// A user's turn has text and images, or tool results; a model's has text, tool
// calls and what its provider wants back untouched.
struct LlmMessage {
  enum class Role { kUser, kModel };
  Role role = Role::kUser;
  std::string text;
  std::vector<LlmImage> images;
  std::vector<LlmToolCall> calls;
  std::vector<LlmToolResult> results;
  // The model's turn as its provider wrote it, for that provider alone; null:
  // there is none. Thinking blocks and their signatures are in it.
  nlohmann::json raw;
};

struct LlmUsage {
  uint64_t input_tokens = 0;  // cached ones among them
  uint64_t output_tokens = 0;
  uint64_t cached_tokens = 0;
};

enum class LlmStop {
  kEnd,      // the model is done
  kTools,    // it wants tools; wherever there are calls, whatever was said
  kLength,   // it met the bound of its output
  kRefusal,  // it, or a filter, refuses
  kPause,    // the same request is to be sent again with what came so far
};

// A model's whole turn.
struct LlmTurn {
  LlmMessage message;
  LlmStop stop = LlmStop::kEnd;
  LlmUsage usage;
  std::string stop_reason;  // the provider's word, for people
};

// Hears a turn as it comes. Raw model text: never for a terminal as it is.
struct LlmListener {
  std::function<void(std::string_view text)> on_text;
  std::function<void(std::string_view text)> on_thinking;
};

struct LlmRequest {
  std::string model;
  std::string system;
  std::vector<LlmMessage> messages;
  std::vector<LlmTool> tools;
  uint32_t max_tokens = 8192;  // of the turn
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_LLM_EVENT_H_
