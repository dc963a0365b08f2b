#ifndef SANDGLASS_CLIENT_LLM_TURN_PARTS_H_
#define SANDGLASS_CLIENT_LLM_TURN_PARTS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/llm/llm_event.h"
#include "nlohmann/json.hpp"

// What the codecs share.
namespace sandglass::client {

// More calls than that in a turn, or blocks, are an error.
inline constexpr size_t kMostParts = 256;
absl::Status TooManyParts();

// Tells a listener, who may not be there.
void Tell(const std::function<void(std::string_view)>& listener,
          std::string_view text);

// Gives calls without an id, or with one that the conversation has already or
// that is too long, one of their own.
void MakeIdsUnique(const LlmRequest& request, std::vector<LlmToolCall>& calls);

// A name that providers accept in a conversation: [A-Za-z0-9_-]{1,64}. Models
// also call tools that don't exist.
std::string SafeToolName(std::string_view name);

// The arguments as an object; {} where they are none, since servers refuse a
// conversation with others.
nlohmann::json ArgumentsObject(std::string_view arguments);
std::string SafeArguments(std::string_view arguments);

// "data:image/png;base64,…".
std::string DataUrl(const LlmImage& image);

// The raw form that this codec wrote with Raw; null when there is none of it.
const nlohmann::json& RawOf(const LlmMessage& message, std::string_view codec);
nlohmann::json Raw(std::string_view codec, nlohmann::json value);

// The end of a turn: without its calls when it is a refusal, waiting for tools
// when there are some. Calls whose arguments a bound has cut are marked, and
// no arguments at all are {}.
void SettleTurn(LlmTurn& turn);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_TURN_PARTS_H_
