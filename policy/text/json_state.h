#ifndef SANDGLASS_POLICY_TEXT_JSON_STATE_H_
#define SANDGLASS_POLICY_TEXT_JSON_STATE_H_

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// The state that a document and its views share. Only for json_*.cc.
struct JsonObject::State {
  struct Object {
    const nlohmann::json* value;
    std::string pointer;             // "" for the root
    std::vector<std::string> asked;  // keys, in the order of the calls
  };
  std::string name;
  nlohmann::json root;
  std::deque<Object> objects;  // each object that was read, once
  std::unordered_map<const nlohmann::json*, size_t> index;  // into objects
  std::vector<std::string> errors;
};

// Escapes a part of a pointer (RFC 6901), and makes control characters visible.
std::string EscapePointerPart(std::string_view part);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_JSON_STATE_H_
