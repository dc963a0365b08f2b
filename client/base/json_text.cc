#include "client/base/json_text.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/utf8_check.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/json_util.h"

namespace sandglass::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The field for what is text in a field of bytes.
const FieldDescriptor* TextFieldOf(const FieldDescriptor& bytes) {
  const bool main = bytes.name() == "data" || bytes.name() == "content";
  return bytes.containing_type()->FindFieldByName(
      main ? "text" : absl::StrCat(bytes.name(), "_text"));
}

void SetTexts(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        SetTexts(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        SetTexts(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    } else if (field->type() == FieldDescriptor::TYPE_BYTES &&
               !field->is_repeated()) {
      const FieldDescriptor* const text = TextFieldOf(*field);
      std::string value = reflection.GetString(message, field);
      if (text != nullptr && CheckUtf8("", value).ok()) {
        reflection.SetString(&message, text, std::move(value));
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::string> JsonText(const Message& message) {
  const std::unique_ptr<Message> with_texts(message.New());
  with_texts->CopyFrom(message);
  SetTexts(*with_texts);
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(*with_texts, &json);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(
        "the answer cannot be shown as JSON: ", status.ToString()));
  }
  // protobuf escapes C0 and C1 controls but not every bidirectional one. Its
  // output has no white space outside of strings and is valid UTF-8, so
  // whatever the filter changes is inside a string, where "\u2066" is JSON's
  // own escape.
  return absl::StrCat(VisibleText(json), "\n");
}

}  // namespace sandglass::client
