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

// A turn with more calls than this, or more blocks, is an error.
inline constexpr size_t kMaxParts = 256;
absl::Status TooManyParts();

// Calls a listener unless it is empty.
void NotifyListener(const std::function<void(std::string_view)>& listener,
                    std::string_view text);

// Gives new ids to calls that have none, or one that the conversation already
// has or that is too long.
void MakeIdsUnique(const LlmRequest& request, std::vector<LlmToolCall>& calls);

// A name that providers accept in a conversation: [A-Za-z0-9_-]{1,64}. Models
// also call tools that don't exist.
std::string SafeToolName(std::string_view name);

// The arguments as an object; {} if they aren't one, because servers refuse a
// conversation with anything else.
nlohmann::json ArgumentsObject(std::string_view arguments);
std::string SafeArguments(std::string_view arguments);

// For example "data:image/png;base64,…".
std::string DataUrl(const LlmImage& image);

// The raw form that this codec has written with Raw; null when there is none.
const nlohmann::json& RawOf(const LlmMessage& message, std::string_view codec);
nlohmann::json Raw(std::string_view codec, nlohmann::json value);

// Completes a turn at its end: removes the calls if it is a refusal, and makes
// it wait for tools if there are calls. Calls whose arguments were cut by a
// limit are marked, and empty arguments become {}.
void SettleTurn(LlmTurn& turn);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_TURN_PARTS_H_
