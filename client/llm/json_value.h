#ifndef SANDGLASS_CLIENT_LLM_JSON_VALUE_H_
#define SANDGLASS_CLIENT_LLM_JSON_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace sandglass::client {

// JSON that others wrote, read without exceptions: what is missing or of
// another type is empty.

// Nested deeper than this is refused: writing it again would take a stack as
// deep.
inline constexpr int kDeepestJson = 64;

// A discarded value (is_discarded()) when it is not JSON or too deep. Bytes
// that are not UTF-8 and halves of surrogate pairs become U+FFFD: a model may
// be cut in the middle of a character.
nlohmann::json ParseJson(std::string_view text);

// On one line; U+FFFD for what is not UTF-8.
std::string DumpJson(const nlohmann::json& value);

// A value of an object, null when there is none.
const nlohmann::json& JsonAt(const nlohmann::json& value,
                             std::string_view name);
const nlohmann::json& JsonAt(const nlohmann::json& value,
                             std::string_view outer, std::string_view inner);
// The first element of an array, null when there is none.
const nlohmann::json& JsonFirst(const nlohmann::json& value);

// Empty when it isn't a string.
std::string_view JsonText(const nlohmann::json& value, std::string_view name);
// 0 when it isn't a number of this range.
uint64_t JsonNumber(const nlohmann::json& value, std::string_view name);
bool HasText(const nlohmann::json& value, std::string_view name);

// Whether the text is a whole JSON object.
bool IsJsonObject(std::string_view text);

// The text with U+FFFD for each byte that is not part of UTF-8.
std::string ValidUtf8(std::string_view text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_JSON_VALUE_H_
