#ifndef SANDGLASS_CLIENT_BASE_TERMINAL_FILTER_H_
#define SANDGLASS_CLIENT_BASE_TERMINAL_FILTER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Makes a program's bytes harmless for a terminal. Text passes unchanged;
// everything that could move the cursor, change the terminal's state or reorder
// text is made visible:
// - C0 controls other than newline and tab, and DEL, as "\x1b". A carriage
//   return right before a newline passes; alone it could overwrite text.
// - C1 controls (U+0080–U+009F) and bidirectional overrides and isolates
//   (U+202A–U+202E, U+2066–U+2069) as "\u202e".
// - bytes that are not UTF-8 (raw C1 bytes among them) as "\x9b".
// Works across chunks: a character or "\r\n" that is cut in two is held back
// until the rest comes, at most 3 bytes. Not thread-safe.
class TerminalFilter {
 public:
  // Returns the harmless form of everything that is complete by now.
  std::string Feed(absl::string_view bytes);

  // Returns what was held back, without changing it, and begins a new text.
  std::string Finish();

 private:
  std::string pending_;
};

// The same for a whole string that must stay on one line: newline and tab are
// made visible as well ("\x0a").
std::string VisibleText(absl::string_view text);

// The same for characters beyond ASCII, and for nothing else: for a terminal
// that would take their bytes for other characters, or for controls.
std::string AsciiText(absl::string_view text);

// True when VisibleText would change nothing.
bool IsPlainText(absl::string_view text);

// The place of the first byte that isn't part of well-formed UTF-8; npos when
// there is none.
size_t FindInvalidUtf8(absl::string_view text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_TERMINAL_FILTER_H_
