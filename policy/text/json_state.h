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

// What a document and the views of it share. Only for json_*.cc.
struct JsonObject::State {
  struct Object {
    const nlohmann::json* value;
    std::string pointer;             // "" for the root
    std::vector<std::string> asked;  // keys, in the order they were asked for
  };
  std::string name;
  nlohmann::json root;
  std::deque<Object> objects;  // each object that was looked into, once
  std::unordered_map<const nlohmann::json*, size_t> index;  // into objects
  std::vector<std::string> errors;
};

// RFC 6901 escapes, and control characters made visible.
std::string EscapePointerPart(std::string_view part);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_JSON_STATE_H_
