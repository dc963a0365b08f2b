#ifndef SANDGLASS_SERVER_BASE_STRINGS_H_
#define SANDGLASS_SERVER_BASE_STRINGS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "policy/text/quoted.h"
#include "policy/text/utf8.h"
#include "policy/text/views.h"
#include "sandbox/os/status.h"

namespace sandglass::server {

using os::ErrorText;
using policy::AbslView;
using policy::Quoted;
using policy::StdView;

using policy::IsUtf8Continuation;
using policy::IsValidUtf8;
using policy::WholeCharacters;

// Returns `bytes` with each byte that isn't valid UTF-8 replaced by U+FFFD.
std::string AsUtf8(std::string_view bytes);

// Returns all of `text` if it has at most `max_bytes` bytes. Otherwise returns
// its first `max_bytes` bytes, or a few less, followed by "…". It cuts between
// characters, since a message that is sent must stay valid UTF-8.
std::string Shorten(absl::string_view text, size_t max_bytes);

// True when every byte is printable ASCII (0x20–0x7e).
bool IsPrintableAscii(std::string_view text);

// True when every byte is a hexadecimal digit, letters in lower case.
bool IsLowerHex(std::string_view text);

// The same error with ". See docs/PAGE" added to its message, or where that
// page was installed, unless the message already names a page of docs/. Every
// error for the people who run the daemon ends like that.
absl::Status WithPage(const absl::Status& error, absl::string_view page);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_STRINGS_H_
