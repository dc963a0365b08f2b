#ifndef SANDGLASS_CLIENT_BASE_UTF8_CHECK_H_
#define SANDGLASS_CLIENT_BASE_UTF8_CHECK_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/map.h"

namespace sandglass::client {

// Checks that a text is UTF-8. A message's strings must be: protobuf would fail
// the call without saying where. `what` names the text in the error.
absl::Status CheckUtf8(absl::string_view what, absl::string_view text);

// The same for names and values; `flag` is the option that they come from.
absl::Status CheckUtf8(
    absl::string_view flag,
    const google::protobuf::Map<std::string, std::string>& pairs);

// How many bytes, `max` or a few less, end where a character does: where to
// cut a text. `text` is UTF-8.
size_t WholeCharacters(absl::string_view text, size_t max);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_UTF8_CHECK_H_
