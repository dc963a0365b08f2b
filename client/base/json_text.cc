#include "client/base/json_text.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/base/byte_texts.h"
#include "client/base/terminal_filter.h"
#include "google/protobuf/util/json_util.h"

namespace sandglass::client {

using google::protobuf::Message;

absl::StatusOr<std::string> JsonText(const Message& message) {
  const std::unique_ptr<Message> with_texts(message.New());
  with_texts->CopyFrom(message);
  SetByteTexts(*with_texts);
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
