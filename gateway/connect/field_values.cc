#include "gateway/connect/field_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/connect/base64.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::TimeUtil;
using policy::AbslView;

// Names of an enum that an error lists.
constexpr int kToldNames = 12;
constexpr size_t kLongestTime = 40;  // characters

template <typename T, typename Value>
void Put(Message& message, const FieldDescriptor& field,
         void (Reflection::*set)(Message*, const FieldDescriptor*, T) const,
         void (Reflection::*add)(Message*, const FieldDescriptor*, T) const,
         Value value) {
  const Reflection& reflection = *message.GetReflection();
  (reflection.*(field.is_repeated() ? add : set))(&message, &field,
                                                  std::move(value));
}

// The number as one of T's, if it is whole and in T's range.
template <typename T>
std::optional<T> Whole(const JsonNumber& number) {
  if (const auto* whole = std::get_if<int64_t>(&number)) {
    if (!std::in_range<T>(*whole)) return std::nullopt;
    return static_cast<T>(*whole);
  }
  if (const auto* whole = std::get_if<uint64_t>(&number)) {
    if (!std::in_range<T>(*whole)) return std::nullopt;
    return static_cast<T>(*whole);
  }
  // A double holds every whole number below this, and no other looks like one.
  constexpr double kExact = 9007199254740992.0;
  const double value = std::get<double>(number);
  if (std::trunc(value) != value || std::fabs(value) >= kExact) {
    return std::nullopt;
  }
  return Whole<T>(JsonNumber(static_cast<int64_t>(value)));
}

double AsDouble(const JsonNumber& number) {
  return std::visit([](auto value) { return static_cast<double>(value); },
                    number);
}

bool PutDouble(Message& message, const FieldDescriptor& field, double value) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    Put(message, field, &Reflection::SetDouble, &Reflection::AddDouble, value);
    return true;
  }
  if (std::isfinite(value) &&
      std::fabs(value) > std::numeric_limits<float>::max()) {
    return false;
  }
  Put(message, field, &Reflection::SetFloat, &Reflection::AddFloat,
      static_cast<float>(value));
  return true;
}

// "-?(0|[1-9][0-9]*)", as protobuf writes whole numbers of 64 bits.
std::optional<JsonNumber> ParseWhole(std::string_view text) {
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits[0] == '-';
  if (negative) digits.remove_prefix(1);
  if (digits.empty() ||
      digits.find_first_not_of("0123456789") != std::string_view::npos ||
      (digits.size() > 1 && digits[0] == '0')) {
    return std::nullopt;
  }
  int64_t number = 0;
  uint64_t natural = 0;
  if (negative) {
    if (!absl::SimpleAtoi(AbslView(text), &number)) return std::nullopt;
    return number;
  }
  if (!absl::SimpleAtoi(AbslView(text), &natural)) return std::nullopt;
  return natural;
}

bool PutEnum(Message& message, const FieldDescriptor& field,
             const std::string& name) {
  const auto* const value = field.enum_type()->FindValueByName(name);
  if (value == nullptr) return false;
  Put(message, field, &Reflection::SetEnumValue, &Reflection::AddEnumValue,
      value->number());
  return true;
}

Message& TimeOf(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  return *(field.is_repeated() ? reflection.AddMessage(&message, &field)
                               : reflection.MutableMessage(&message, &field));
}

// "-?[0-9]+(.[0-9]{1,9})?s".
bool IsDurationText(std::string_view text) {
  if (text.size() < 2 || text.size() > kLongestTime || text.back() != 's') {
    return false;
  }
  text.remove_suffix(1);
  if (text[0] == '-') text.remove_prefix(1);
  const size_t whole =
      std::min(text.find_first_not_of("0123456789"), text.size());
  if (whole == 0) return false;
  text.remove_prefix(whole);
  if (text.empty()) return true;
  if (text[0] != '.') return false;
  text.remove_prefix(1);
  return !text.empty() && text.size() <= 9 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool PutDuration(Message& message, const FieldDescriptor& field,
                 const std::string& text) {
  google::protobuf::Duration duration;
  if (!IsDurationText(text) || !TimeUtil::FromString(text, &duration) ||
      duration.seconds() < TimeUtil::kDurationMinSeconds ||
      duration.seconds() > TimeUtil::kDurationMaxSeconds) {
    return false;
  }
  TimeOf(message, field).CopyFrom(duration);
  return true;
}

bool PutTimestamp(Message& message, const FieldDescriptor& field,
                  const std::string& text) {
  // The library also takes words such as "infinite-future", and other years.
  constexpr size_t kYear = 4;
  absl::Time time;
  std::string error;
  if (text.size() < kLongestTime && text.find(' ') == std::string::npos &&
      text.find_first_not_of("0123456789") == kYear && text[kYear] == '-' &&
      absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    google::protobuf::Timestamp stamp;
    const int64_t seconds = absl::ToUnixSeconds(time);
    if (seconds < TimeUtil::kTimestampMinSeconds ||
        seconds > TimeUtil::kTimestampMaxSeconds) {
      return false;
    }
    stamp.set_seconds(seconds);
    stamp.set_nanos(static_cast<int32_t>(
        absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
    TimeOf(message, field).CopyFrom(stamp);
    return true;
  }
  return false;
}

bool PutTime(Message& message, const FieldDescriptor& field,
             const std::string& text) {
  if (!IsTime(*field.message_type())) return false;
  return field.message_type() == google::protobuf::Duration::descriptor()
             ? PutDuration(message, field, text)
             : PutTimestamp(message, field, text);
}

bool PutReal(Message& message, const FieldDescriptor& field,
             const std::string& text) {
  for (const auto& [name, value] :
       {std::pair("NaN", std::numeric_limits<double>::quiet_NaN()),
        std::pair("Infinity", std::numeric_limits<double>::infinity()),
        std::pair("-Infinity", -std::numeric_limits<double>::infinity())}) {
    if (text == name) return PutDouble(message, field, value);
  }
  return false;
}

std::string NamesOf(const EnumDescriptor& type) {
  std::string names = "one of ";
  for (int i = 0; i < type.value_count() && i < kToldNames; ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ", type.value(i)->name());
  }
  if (type.value_count() > kToldNames) {
    absl::StrAppend(&names, " and ", type.value_count() - kToldNames, " more");
  }
  return names;
}

template <typename T>
std::string RangeOf() {
  return absl::StrCat("a whole number from ", std::numeric_limits<T>::min(),
                      " to ", std::numeric_limits<T>::max());
}

std::string ExpectedMessage(const Descriptor& type) {
  if (&type == google::protobuf::Duration::descriptor()) {
    return "a duration in seconds such as \"1.5s\"";
  }
  if (&type == google::protobuf::Timestamp::descriptor()) {
    return "a time such as \"2026-01-31T12:00:00Z\"";
  }
  return absl::StrCat("an object (", type.name(), ")");
}

}  // namespace

bool IsTime(const Descriptor& type) {
  return &type == google::protobuf::Duration::descriptor() ||
         &type == google::protobuf::Timestamp::descriptor();
}

std::string ExpectedOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return RangeOf<int32_t>();
    case FieldDescriptor::CPPTYPE_INT64:
      return RangeOf<int64_t>();
    case FieldDescriptor::CPPTYPE_UINT32:
      return RangeOf<uint32_t>();
    case FieldDescriptor::CPPTYPE_UINT64:
      return RangeOf<uint64_t>();
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return NamesOf(*field.enum_type());
    case FieldDescriptor::CPPTYPE_STRING:
      return field.type() == FieldDescriptor::TYPE_BYTES ? "a string of base64"
                                                         : "a string";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ExpectedMessage(*field.message_type());
  }
  return "a value";
}

bool PutNumber(Message& message, const FieldDescriptor& field,
               JsonNumber number) {
  const auto put = [&](auto whole, auto set, auto add) {
    if (whole.has_value()) Put(message, field, set, add, *whole);
    return whole.has_value();
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(Whole<int32_t>(number), &Reflection::SetInt32,
                 &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(Whole<int64_t>(number), &Reflection::SetInt64,
                 &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(Whole<uint32_t>(number), &Reflection::SetUInt32,
                 &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(Whole<uint64_t>(number), &Reflection::SetUInt64,
                 &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return PutDouble(message, field, AsDouble(number));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto whole = Whole<int32_t>(number);
      const bool known =
          whole.has_value() &&
          field.enum_type()->FindValueByNumber(*whole) != nullptr;
      return known &&
             put(whole, &Reflection::SetEnumValue, &Reflection::AddEnumValue);
    }
    default:
      return false;
  }
}

bool PutBool(Message& message, const FieldDescriptor& field, bool value) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL) return false;
  Put(message, field, &Reflection::SetBool, &Reflection::AddBool, value);
  return true;
}

bool PutString(Message& message, const FieldDescriptor& field,
               std::string text) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES) {
        std::optional<std::string> bytes = DecodeBase64(text);
        if (!bytes.has_value()) return false;
        text = *std::move(bytes);
      }
      Put(message, field, &Reflection::SetString, &Reflection::AddString,
          std::move(text));
      return true;
    case FieldDescriptor::CPPTYPE_ENUM:
      return PutEnum(message, field, text);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return PutTime(message, field, text);
    case FieldDescriptor::CPPTYPE_BOOL:
      return false;
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return PutReal(message, field, text);
    default:
      const auto whole = ParseWhole(text);
      return whole.has_value() && PutNumber(message, field, *whole);
  }
}

bool PutKey(Message& entry, const FieldDescriptor& key, std::string text) {
  if (key.cpp_type() != FieldDescriptor::CPPTYPE_BOOL) {
    return PutString(entry, key, std::move(text));
  }
  if (text != "true" && text != "false") return false;
  return PutBool(entry, key, text == "true");
}

}  // namespace sandglass::gateway
