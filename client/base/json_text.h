#ifndef SANDGLASS_CLIENT_BASE_JSON_TEXT_H_
#define SANDGLASS_CLIENT_BASE_JSON_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace sandglass::client {

// The standard JSON form of a message (lowerCamelCase names, bytes in base64,
// default values omitted) on one line with a newline at its end. Bytes that are
// text are there as such, too, where the message has a field for it. Safe for a
// terminal: characters that TerminalFilter would make visible are JSON escapes.
absl::StatusOr<std::string> JsonText(const google::protobuf::Message& message);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_JSON_TEXT_H_
