#ifndef SANDGLASS_CLIENT_LLM_LLM_EVENT_H_
#define SANDGLASS_CLIENT_LLM_LLM_EVENT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace sandglass::client {

// A conversation in a form that is independent of providers. For each request a
// codec converts it to the form of its provider.

struct LlmTool {
  std::string name;
  std::string description;
  nlohmann::json parameters;  // a JSON schema: an object
  // The tool in the provider's own form, such as Anthropic's bash_20250124, in
  // place of the three members above; null: there is none.
  nlohmann::json native;
};

struct LlmImage {
  std::string mime_type;
  std::string bytes;  // not base64
};

struct LlmToolCall {
  // Unique in the conversation and never empty: the codec makes one if the
  // provider's isn't.
  std::string id;
  std::string name;
  std::string arguments;  // as the model wrote it; may not be JSON
  // The stream ended inside of the arguments, so the call must not be carried
  // out.
  bool cut = false;
};

struct LlmToolResult {
  std::string call_id;
  std::string text;
  bool is_error = false;
  std::vector<LlmImage> images;
};

// A user's turn has text and images, or tool results; a model's turn has text,
// tool calls and what its provider needs to get back unchanged.
struct LlmMessage {
  enum class Role { kUser, kModel };
  Role role = Role::kUser;
  std::string text;
  std::vector<LlmImage> images;
  std::vector<LlmToolCall> calls;
  std::vector<LlmToolResult> results;
  // The model's turn in its provider's own form, only for that provider; null:
  // there is none. Contains thinking blocks and their signatures.
  nlohmann::json raw;
};

struct LlmUsage {
  uint64_t input_tokens = 0;  // including cached ones
  uint64_t output_tokens = 0;
  uint64_t cached_tokens = 0;
};

enum class LlmStop {
  kEnd,      // the model has finished
  kTools,    // it called tools; whenever there are calls
  kLength,   // it reached the limit of its output
  kRefusal,  // the model, or a filter, refused
  kPause,    // send the request again, with what came so far
};

// A model's whole turn.
struct LlmTurn {
  LlmMessage message;
  LlmStop stop = LlmStop::kEnd;
  LlmUsage usage;
  std::string stop_reason;  // the provider's own word, for people
};

// Callbacks for a turn as it arrives. Their texts are a model's raw output:
// never safe for a terminal.
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
