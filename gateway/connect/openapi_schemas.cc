#include "gateway/connect/openapi_schemas.h"

#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/connect/openapi_comments.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::ordered_json;

constexpr char kDuration[] = "google.protobuf.Duration";
constexpr char kTimestamp[] = "google.protobuf.Timestamp";

bool HasSchema(const Descriptor& message) {
  return message.full_name() != kDuration && message.full_name() != kTimestamp;
}

ordered_json MessageValue(const Descriptor& message) {
  if (message.full_name() == kTimestamp) {
    return {{"type", "string"}, {"format", "date-time"}};
  }
  if (message.full_name() == kDuration) {
    return {{"type", "string"},
            {"pattern", "^-?[0-9]+(\\.[0-9]{1,9})?s$"},
            {"examples", {"1.5s"}}};
  }
  return SchemaSet::RefTo(message.full_name());
}

template <typename T>
ordered_json WholeNumber(const char* format) {
  return {{"type", "integer"},
          {"format", format},
          {"minimum", std::numeric_limits<T>::min()},
          {"maximum", std::numeric_limits<T>::max()}};
}

// One value of the field.
ordered_json ValueSchema(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return WholeNumber<int32_t>("int32");
    case FieldDescriptor::CPPTYPE_UINT32:
      return WholeNumber<uint32_t>("uint32");
    // Numbers of JSON hold 53 bits with most readers.
    case FieldDescriptor::CPPTYPE_INT64:
      return {
          {"type", "string"}, {"format", "int64"}, {"pattern", "^-?[0-9]+$"}};
    case FieldDescriptor::CPPTYPE_UINT64:
      return {
          {"type", "string"}, {"format", "uint64"}, {"pattern", "^[0-9]+$"}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return {{"type", "number"}, {"format", "double"}};
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"type", "number"}, {"format", "float"}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_ENUM:
      return SchemaSet::RefTo(field.enum_type()->full_name());
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES) {
        return {{"type", "string"}, {"contentEncoding", "base64"}};
      }
      return {{"type", "string"}};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageValue(*field.message_type());
  }
  return ordered_json::object();
}

ordered_json FieldSchema(const FieldDescriptor& field) {
  ordered_json schema;
  if (field.is_map()) {
    schema = {{"type", "object"},
              {"additionalProperties",
               ValueSchema(*field.message_type()->map_value())}};
  } else if (field.is_repeated()) {
    schema = {{"type", "array"}, {"items", ValueSchema(field)}};
  } else {
    schema = ValueSchema(field);
  }
  std::string description = CommentOf(field);
  if (const auto* oneof = field.real_containing_oneof()) {
    absl::StrAppend(&description, description.empty() ? "" : "\n\n",
                    "At most one of these is there (", oneof->name(), "):");
    for (int i = 0; i < oneof->field_count(); ++i) {
      absl::StrAppend(&description, i == 0 ? " " : ", ",
                      oneof->field(i)->json_name());
    }
    description += '.';
  }
  if (!description.empty()) schema["description"] = description;
  return schema;
}

ordered_json MessageSchema(const Descriptor& message, bool closed) {
  ordered_json schema = {{"type", "object"}};
  if (std::string comment = CommentOf(message); !comment.empty()) {
    schema["description"] = std::move(comment);
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    schema["properties"][field.json_name()] = FieldSchema(field);
  }
  if (closed) schema["additionalProperties"] = false;
  return schema;
}

ordered_json EnumSchema(const EnumDescriptor& type) {
  ordered_json schema = {{"type", "string"}};
  std::string description = CommentOf(type);
  for (int i = 0; i < type.value_count(); ++i) {
    const auto& value = *type.value(i);
    schema["enum"].push_back(value.name());
    const std::string comment = CommentOf(value);
    if (comment.empty()) continue;
    absl::StrAppend(&description, description.empty() ? "" : "\n\n", "- ",
                    value.name(), ": ", comment);
  }
  if (!description.empty()) schema["description"] = description;
  return schema;
}

}  // namespace

void SchemaSet::Reach(const Descriptor& message, Messages& messages) {
  if (!HasSchema(message) || !messages.insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    if (field->is_map()) field = field->message_type()->map_value();
    if (field->message_type() != nullptr) {
      Reach(*field->message_type(), messages);
    }
  }
}

void SchemaSet::AddRequest(const Descriptor& message) {
  Reach(message, requests_);
}

void SchemaSet::AddAnswer(const Descriptor& message) {
  Reach(message, answers_);
}

ordered_json SchemaSet::Schemas() const {
  std::map<std::string, ordered_json> sorted;
  Messages all = requests_;
  all.insert(answers_.begin(), answers_.end());
  for (const Descriptor* message : all) {
    const bool closed = answers_.count(message) == 0;
    sorted[message->full_name()] = MessageSchema(*message, closed);
    for (int i = 0; i < message->field_count(); ++i) {
      const EnumDescriptor* const type = message->field(i)->enum_type();
      if (type != nullptr) sorted[type->full_name()] = EnumSchema(*type);
    }
  }
  ordered_json schemas = ordered_json::object();
  for (auto& [name, schema] : sorted) schemas[name] = std::move(schema);
  return schemas;
}

ordered_json SchemaSet::RefTo(const std::string& full_name) {
  return {{"$ref", absl::StrCat("#/components/schemas/", full_name)}};
}

}  // namespace sandglass::gateway
