#ifndef SANDGLASS_CLIENT_BASE_TERMINAL_FILTER_H_
#define SANDGLASS_CLIENT_BASE_TERMINAL_FILTER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Makes a program's bytes harmless for a terminal. Text passes; all that
// could move the cursor, change the terminal's state or reorder text comes
// out in a visible form:
//  - C0 controls other than newline and tab, and DEL, as "\x1b". A carriage
//    return right before a newline passes; alone it could overwrite text.
//  - C1 controls (U+0080–U+009F) and bidirectional overrides and isolates
//    (U+202A–U+202E, U+2066–U+2069) as "\u202e".
//  - bytes that are not UTF-8 (raw C1 bytes among them) as "\x9b".
// Works across chunks: a character or "\r\n" that is cut in two is held back
// until the rest comes, at most 3 bytes. Not thread-safe.
class TerminalFilter {
 public:
  // Returns the harmless form of what is complete by now.
  std::string Feed(absl::string_view bytes);

  // Returns what was held back, as it is, and starts anew.
  std::string Finish();

 private:
  std::string pending_;
};

// The same for a whole string that must stay on one line: newline and tab are
// shown visibly as well ("\x0a").
std::string VisibleText(absl::string_view text);

// True when VisibleText would change nothing.
bool IsPlainText(absl::string_view text);

// Place of the first byte that is not part of well-formed UTF-8; npos when
// there is none.
size_t FindInvalidUtf8(absl::string_view text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_TERMINAL_FILTER_H_
