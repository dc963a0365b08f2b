#ifndef SANDGLASS_CLIENT_LLM_JSON_VALUE_H_
#define SANDGLASS_CLIENT_LLM_JSON_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace sandglass::client {

// Reading JSON that others wrote, without exceptions: what is missing or of
// another type counts as empty.

// Deeper nesting than this is refused, because writing such a value again would
// need a stack of the same depth.
inline constexpr int kDeepestJson = 64;

// Returns a discarded value (is_discarded()) when the text isn't JSON or is too
// deep. Bytes that aren't UTF-8 and halves of surrogate pairs become U+FFFD,
// because a model may be cut off in the middle of a character.
nlohmann::json ParseJson(std::string_view text);

// Writes on one line, with U+FFFD for what isn't UTF-8.
std::string DumpJson(const nlohmann::json& value);

// A member of an object, or null when there is none.
const nlohmann::json& JsonAt(const nlohmann::json& value,
                             std::string_view name);
const nlohmann::json& JsonAt(const nlohmann::json& value,
                             std::string_view outer, std::string_view inner);
// The first element of an array, or null when there is none.
const nlohmann::json& JsonFirst(const nlohmann::json& value);

// A member that is a string; empty when it isn't one.
std::string_view JsonText(const nlohmann::json& value, std::string_view name);
// A member that is a number; 0 when it isn't one of this range.
uint64_t JsonNumber(const nlohmann::json& value, std::string_view name);
bool HasText(const nlohmann::json& value, std::string_view name);

// Whether the text is a whole JSON object.
bool IsJsonObject(std::string_view text);

// The text with U+FFFD for each byte that is not part of UTF-8.
std::string ValidUtf8(std::string_view text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_JSON_VALUE_H_
