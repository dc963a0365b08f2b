#ifndef SANDGLASS_CLIENT_BASE_BYTE_TEXTS_H_
#define SANDGLASS_CLIENT_BASE_BYTE_TEXTS_H_

#include "google/protobuf/message.h"

namespace sandglass::client {

// Puts bytes that are UTF-8 beside themselves as text, at any depth of the
// message, where it has a field for that: `text` for `data` or `content`,
// otherwise the bytes' name with `_text`. So whoever reads the message as JSON,
// where bytes are base64, needs to decode nothing.
void SetByteTexts(google::protobuf::Message& message);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_BYTE_TEXTS_H_
