// Typed access to a parsed document.

#include "policy/text/json_reader.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_state.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

using nlohmann::json;

std::string Quoted(const std::string& text) {
  constexpr size_t kShown = 60;
  if (text.size() <= kShown) {
    return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
  }
  return absl::StrCat("\"", absl::CEscape(text.substr(0, kShown)), "…\"");
}

std::string Describe(const json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return value.dump();  // null, true, a number
}

// Uses the largest unit that needs no rounding: "64 MiB", "67108865 B".
std::string ExactBytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB",
                                                 "TiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(bytes, " ", kUnits[unit]);
}

std::string Exact(uint64_t value) { return absl::StrCat(value); }

std::string RangeText(uint64_t value, UnsignedRange range,
                      std::string (*format)(uint64_t)) {
  const std::string max = range.max == UnsignedRange().max
                              ? std::string(" or more")
                              : absl::StrCat(" to ", format(range.max));
  return absl::StrCat(format(value), " is out of range; it takes ",
                      format(range.min), max);
}

}  // namespace

std::string EscapePointerPart(std::string_view part) {
  return absl::Utf8SafeCEscape(
      absl::StrReplaceAll(AbslView(part), {{"~", "~0"}, {"/", "~1"}}));
}

bool JsonObject::Has(std::string_view key) const {
  return value_ != nullptr && value_->contains(key);
}

bool JsonObject::IsString(std::string_view key) const {
  if (!Has(key)) return false;
  return value_->find(key)->is_string();
}

std::vector<std::string> JsonObject::Keys() const {
  std::vector<std::string> keys;
  if (value_ == nullptr) return keys;
  for (const auto& [key, value] : value_->items()) keys.push_back(key);
  return keys;
}

std::string JsonObject::Pointer(std::string_view key) const {
  const std::string& own = state_->objects[index_].pointer;
  if (!key.empty()) return absl::StrCat(own, "/", EscapePointerPart(key));
  return own.empty() ? "/" : own;
}

void JsonObject::AddError(std::string_view key, std::string_view message) {
  if (value_ == nullptr) return;  // its absence was reported already
  AddErrorAt(Pointer(key), message);
}

void JsonObject::AddErrorAt(std::string_view pointer,
                            std::string_view message) {
  state_->errors.push_back(absl::StrCat(state_->name, ": ", AbslView(pointer),
                                        ": ", AbslView(message)));
}

void JsonObject::WrongType(std::string_view key, std::string_view wanted,
                           const json& got) {
  AddError(key, absl::StrCat("expected ", AbslView(wanted), ", got ",
                             Describe(got)));
}

const json* JsonObject::Ask(std::string_view key, bool required) {
  if (value_ == nullptr) return nullptr;
  std::vector<std::string>& asked = state_->objects[index_].asked;
  if (std::find(asked.begin(), asked.end(), key) == asked.end()) {
    asked.emplace_back(key);
  }
  const auto found = value_->find(key);
  if (found != value_->end()) return &*found;
  if (required) AddError(key, "missing; it is required");
  return nullptr;
}

std::string JsonObject::String(std::string_view key,
                               std::optional<std::string> fallback) {
  const json* value = Ask(key, !fallback.has_value());
  if (value != nullptr) {
    if (value->is_string()) return value->get_ref<const std::string&>();
    WrongType(key, "a string", *value);
  }
  return std::move(fallback).value_or("");
}

bool JsonObject::Bool(std::string_view key, std::optional<bool> fallback) {
  const json* value = Ask(key, !fallback.has_value());
  if (value != nullptr) {
    if (value->is_boolean()) return value->get<bool>();
    WrongType(key, "true or false", *value);
  }
  return fallback.value_or(false);
}

uint64_t JsonObject::Unsigned(std::string_view key, UnsignedRange range,
                              std::optional<uint64_t> fallback) {
  const json* value = Ask(key, !fallback.has_value());
  if (value == nullptr) return fallback.value_or(0);
  if (!value->is_number_unsigned()) {
    WrongType(key, "a whole number, zero or more", *value);
    return fallback.value_or(0);
  }
  const uint64_t number = value->get<uint64_t>();
  if (number < range.min || number > range.max) {
    AddError(key, RangeText(number, range, Exact));
    return fallback.value_or(0);
  }
  return number;
}

absl::Duration JsonObject::Duration(std::string_view key, DurationRange range,
                                    std::optional<absl::Duration> fallback) {
  const json* value = Ask(key, !fallback.has_value());
  const absl::Duration otherwise = fallback.value_or(absl::ZeroDuration());
  if (value == nullptr) return otherwise;
  absl::Duration duration;
  if (!value->is_string() ||
      !absl::ParseDuration(value->get_ref<const std::string&>(), &duration)) {
    WrongType(key, "a duration such as \"30s\" or \"500ms\"", *value);
    return otherwise;
  }
  if (duration < range.min || duration > range.max) {
    AddError(key, absl::StrCat(Describe(*value), " is out of range; it takes ",
                               absl::FormatDuration(range.min), " to ",
                               absl::FormatDuration(range.max)));
    return otherwise;
  }
  return duration;
}

uint64_t JsonObject::ByteSize(std::string_view key, UnsignedRange range,
                              std::optional<uint64_t> fallback) {
  const json* value = Ask(key, !fallback.has_value());
  if (value == nullptr) return fallback.value_or(0);
  uint64_t bytes = 0;
  if (value->is_number_unsigned()) {
    bytes = value->get<uint64_t>();
  } else if (value->is_string()) {
    const absl::StatusOr<uint64_t> parsed =
        ParseByteSize(value->get_ref<const std::string&>());
    if (!parsed.ok()) {
      const absl::string_view message = parsed.status().message();
      AddError(key, StdView(message));
      return fallback.value_or(0);
    }
    bytes = *parsed;
  } else {
    WrongType(key, "a number of bytes or a size such as \"256MiB\"", *value);
    return fallback.value_or(0);
  }
  if (bytes < range.min || bytes > range.max) {
    AddError(key, RangeText(bytes, range, ExactBytes));
    return fallback.value_or(0);
  }
  return bytes;
}

std::vector<std::string> JsonObject::Strings(
    std::string_view key, std::optional<std::vector<std::string>> fallback) {
  const json* value = Ask(key, !fallback.has_value());
  if (value == nullptr) {
    return std::move(fallback).value_or(std::vector<std::string>());
  }
  return StringsAt(Pointer(key), *value);
}

std::vector<std::string> JsonObject::StringsAt(const std::string& pointer,
                                               const json& value) {
  std::vector<std::string> strings;
  if (!value.is_array()) {
    AddErrorAt(pointer, absl::StrCat("expected a list of strings, got ",
                                     Describe(value)));
    return strings;
  }
  for (size_t i = 0; i < value.size(); ++i) {
    const json& item = value[i];
    if (item.is_string()) {
      strings.push_back(item.get_ref<const std::string&>());
    } else {
      AddErrorAt(absl::StrCat(pointer, "/", i),
                 absl::StrCat("expected a string, got ", Describe(item)));
    }
  }
  return strings;
}

std::vector<std::vector<std::string>> JsonObject::StringLists(
    std::string_view key) {
  std::vector<std::vector<std::string>> lists;
  const json* value = Ask(key, /*required=*/true);
  if (value == nullptr) return lists;
  if (!value->is_array()) {
    WrongType(key, "a list of lists of strings", *value);
    return lists;
  }
  for (size_t i = 0; i < value->size(); ++i) {
    const std::string pointer = absl::StrCat(Pointer(key), "/", i);
    lists.push_back(StringsAt(pointer, (*value)[i]));
  }
  return lists;
}

JsonObject::StringPairs JsonObject::StringMap(
    std::string_view key, std::optional<StringPairs> fallback) {
  const json* value = Ask(key, !fallback.has_value());
  if (value == nullptr) return std::move(fallback).value_or(StringPairs());
  StringPairs pairs;
  if (!value->is_object()) {
    WrongType(key, "an object of strings", *value);
    return pairs;
  }
  JsonObject object = Child(*value, Pointer(key));
  for (const std::string& name : object.Keys()) {
    pairs.emplace_back(name, object.String(name));
  }
  return pairs;
}

JsonObject JsonObject::Child(const json& value, std::string pointer) {
  // One record per object, however often it is requested, so that a key counts
  // as asked for whichever call has done so.
  const auto [place, added] =
      state_->index.try_emplace(&value, state_->objects.size());
  if (added) state_->objects.push_back({&value, std::move(pointer), {}});
  return JsonObject(state_, &value, place->second);
}

std::optional<JsonObject> JsonObject::OptionalObject(std::string_view key) {
  const json* value = Ask(key, /*required=*/false);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    WrongType(key, "an object", *value);
    return JsonObject(state_, nullptr, index_);
  }
  return Child(*value, Pointer(key));
}

JsonObject JsonObject::Object(std::string_view key) {
  if (std::optional<JsonObject> object = OptionalObject(key)) return *object;
  AddError(key, "missing; it is required");
  return JsonObject(state_, nullptr, index_);
}

std::vector<JsonObject> JsonObject::Objects(std::string_view key) {
  const json* value = Ask(key, /*required=*/true);
  std::vector<JsonObject> objects;
  if (value == nullptr) return objects;
  if (!value->is_array()) {
    WrongType(key, "a list of objects", *value);
    return objects;
  }
  for (size_t i = 0; i < value->size(); ++i) {
    const json& item = (*value)[i];
    const std::string pointer = absl::StrCat(Pointer(key), "/", i);
    if (item.is_object()) {
      objects.push_back(Child(item, pointer));
    } else {
      AddErrorAt(pointer,
                 absl::StrCat("expected an object, got ", Describe(item)));
    }
  }
  return objects;
}

std::optional<JsonItem> JsonObject::OptionalItem(std::string_view key) {
  const json* value = Ask(key, /*required=*/false);
  if (value == nullptr) return std::nullopt;
  return JsonItem(*this, *value, Pointer(key));
}

std::vector<JsonItem> JsonObject::Items(std::string_view key) {
  const json* value = Ask(key, /*required=*/true);
  std::vector<JsonItem> items;
  if (value == nullptr) return items;
  if (!value->is_array()) {
    WrongType(key, "a list", *value);
    return items;
  }
  for (size_t i = 0; i < value->size(); ++i) {
    items.push_back(
        JsonItem(*this, (*value)[i], absl::StrCat(Pointer(key), "/", i)));
  }
  return items;
}

std::optional<std::string> JsonItem::String() const {
  if (!value_->is_string()) return std::nullopt;
  return value_->get_ref<const std::string&>();
}

std::optional<uint64_t> JsonItem::Unsigned() const {
  if (!value_->is_number_unsigned()) return std::nullopt;
  return value_->get<uint64_t>();
}

bool JsonItem::IsEmptyList() const {
  return value_->is_array() && value_->empty();
}

std::optional<JsonObject> JsonItem::Object() {
  if (!value_->is_object()) return std::nullopt;
  return parent_.Child(*value_, pointer_);
}

void JsonItem::Refuse(std::string_view wanted) {
  parent_.AddErrorAt(pointer_, absl::StrCat("expected ", AbslView(wanted),
                                            ", got ", Describe(*value_)));
}

}  // namespace sandglass::policy
