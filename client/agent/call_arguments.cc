#include "client/agent/call_arguments.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/llm/json_value.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

constexpr double kMaxNumber = 1e15;

}  // namespace

CallArguments::CallArguments(std::string_view tool, const std::string& json,
                             bool cut)
    : tool_(tool) {
  if (cut) {
    problem_ = absl::StrCat(
        "The arguments of ", tool_,
        " were cut off by the limit of the answer's length, so nothing was "
        "run. Call it again with less at once, for example a file in parts.");
    return;
  }
  if (json.empty()) return;
  json_ = ParseJson(json);
  if (json_.is_object()) return;
  Complain(json_.is_discarded() ? "are no valid JSON" : "are no JSON object");
  json_ = nlohmann::json::object();
}

void CallArguments::Complain(std::string_view what) {
  if (!problem_.empty()) return;
  problem_ = absl::StrCat("The arguments of ", tool_, " ", View(what),
                          "; nothing was run.");
}

const nlohmann::json* CallArguments::Find(const char* name) const {
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

std::string CallArguments::Text(const char* name) {
  if (Find(name) == nullptr) {
    Complain(absl::StrCat("lack \"", name, "\""));
    return "";
  }
  return OptionalText(name);
}

std::string CallArguments::OptionalText(const char* name,
                                        const char* otherwise) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  Complain(absl::StrCat("have a \"", name, "\" that is no text"));
  return "";
}

uint64_t CallArguments::OptionalNumber(const char* name, uint64_t otherwise) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (number >= 0 && number <= kMaxNumber) {
      return static_cast<uint64_t>(std::ceil(number));
    }
  }
  Complain(absl::StrCat("have a \"", name, "\" that is no number from 0 on"));
  return otherwise;
}

bool CallArguments::OptionalFlag(const char* name) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  Complain(
      absl::StrCat("have a \"", name, "\" that is neither true nor false"));
  return false;
}

std::vector<std::string> CallArguments::OptionalTexts(const char* name) {
  std::vector<std::string> texts;
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return texts;
  if (value->is_array()) {
    for (const nlohmann::json& each : *value) {
      if (each.is_string()) texts.push_back(each.get<std::string>());
    }
    if (texts.size() == value->size()) return texts;
  }
  Complain(absl::StrCat("have a \"", name, "\" that is no list of texts"));
  return {};
}

std::pair<uint64_t, uint64_t> CallArguments::OptionalRange(const char* name) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return {0, 0};
  if (value->is_array() && value->size() == 2 &&
      (*value)[0].is_number_integer() && (*value)[1].is_number_integer()) {
    const auto first = (*value)[0].get<int64_t>();
    const auto last = (*value)[1].get<int64_t>();
    if (first >= 1 && (last == -1 || last >= first)) {
      return {static_cast<uint64_t>(first),
              last == -1 ? 0 : static_cast<uint64_t>(last)};
    }
  }
  Complain(absl::StrCat("have a \"", name,
                        "\" that is not [first line, last line or -1]"));
  return {0, 0};
}

}  // namespace sandglass::client
