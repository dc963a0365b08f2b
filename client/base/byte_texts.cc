#include "client/base/byte_texts.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/utf8_check.h"
#include "google/protobuf/descriptor.h"

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

}  // namespace

void SetByteTexts(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        SetByteTexts(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        SetByteTexts(*reflection.MutableRepeatedMessage(&message, field, i));
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

}  // namespace sandglass::client
