#ifndef SANDGLASS_SERVER_BASE_STRINGS_H_
#define SANDGLASS_SERVER_BASE_STRINGS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "policy/text/utf8.h"
#include "policy/text/views.h"

namespace sandglass::server {

using policy::AbslView;
using policy::StdView;

// `text` in double quotes, every byte outside printable ASCII escaped, cut to
// `max_bytes` of its bytes. Safe for terminals, logs and protobuf strings.
std::string Quote(std::string_view text, size_t max_bytes = 64);

using policy::IsUtf8Continuation;
using policy::IsValidUtf8;
using policy::WholeCharacters;

// `bytes` with U+FFFD for each that is no UTF-8.
std::string AsUtf8(std::string_view bytes);

// True when every byte is printable ASCII (0x20–0x7e).
bool IsPrintableAscii(std::string_view text);

// What errno `error` means, as strerror(3) says it, but thread-safe.
std::string ErrorText(int error);

// The same error with ". See PAGE" behind its message, where that names no page
// of docs/ yet. An error for people who run the daemon ends so.
absl::Status WithPage(const absl::Status& error, absl::string_view page);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_STRINGS_H_
