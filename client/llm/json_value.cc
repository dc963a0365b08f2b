#include "client/llm/json_value.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/string_view.h"
#include "client/base/json_depth.h"
#include "client/base/terminal_filter.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The code unit of "\uXXXX" at this position.
std::optional<uint32_t> EscapeAt(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') {
    return std::nullopt;
  }
  const std::string digits(text.substr(at + 2, 4));
  char* end = nullptr;
  const unsigned long unit = std::strtoul(digits.c_str(), &end, 16);
  if (end != digits.c_str() + 4) return std::nullopt;
  return static_cast<uint32_t>(unit);
}

bool IsHigh(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLow(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

std::string WithoutHalfPairs(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i++];
      continue;
    }
    const std::optional<uint32_t> unit = EscapeAt(text, i);
    size_t length = unit.has_value() ? 6 : 2;
    std::string_view as = text.substr(i, length);
    if (unit.has_value() && IsHigh(*unit)) {
      const std::optional<uint32_t> next = EscapeAt(text, i + 6);
      if (next.has_value() && IsLow(*next)) {
        length = 12;
        as = text.substr(i, length);
      } else {
        as = kReplacement;
      }
    } else if (unit.has_value() && IsLow(*unit)) {
      as = kReplacement;
    }
    out += as;
    i += length;
  }
  return out;
}

json Parse(std::string_view text) {
  return json::parse(text.begin(), text.end(), nullptr,
                     /*allow_exceptions=*/false);
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bad = FindInvalidUtf8(View(text));
    if (bad == absl::string_view::npos) break;
    out += text.substr(0, bad);
    out += kReplacement;
    text.remove_prefix(bad + 1);
  }
  out += text;
  return out;
}

json ParseJson(std::string_view text) {
  if (IsDeeperJson(View(text), kDeepestJson)) {
    return json(json::value_t::discarded);
  }
  json value = Parse(text);
  if (!value.is_discarded()) return value;
  return Parse(WithoutHalfPairs(ValidUtf8(text)));
}

std::string DumpJson(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

const json& JsonAt(const json& value, std::string_view name) {
  static const json* const kNull = new json();
  if (!value.is_object()) return *kNull;
  const auto found = value.find(name);
  return found == value.end() ? *kNull : *found;
}

const json& JsonAt(const json& value, std::string_view outer,
                   std::string_view inner) {
  return JsonAt(JsonAt(value, outer), inner);
}

const json& JsonFirst(const json& value) {
  static const json* const kNull = new json();
  return value.is_array() && !value.empty() ? value.front() : *kNull;
}

std::string_view JsonText(const json& value, std::string_view name) {
  const json& found = JsonAt(value, name);
  if (!found.is_string()) return {};
  return found.get_ref<const std::string&>();
}

uint64_t JsonNumber(const json& value, std::string_view name) {
  const json& found = JsonAt(value, name);
  if (found.is_number_unsigned()) return found.get<uint64_t>();
  if (!found.is_number_integer()) return 0;
  const int64_t number = found.get<int64_t>();
  return number < 0 ? 0 : static_cast<uint64_t>(number);
}

bool HasText(const json& value, std::string_view name) {
  return !JsonText(value, name).empty();
}

bool IsJsonObject(std::string_view text) { return ParseJson(text).is_object(); }

}  // namespace sandglass::client
