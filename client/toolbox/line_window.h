#ifndef SANDGLASS_CLIENT_TOOLBOX_LINE_WINDOW_H_
#define SANDGLASS_CLIENT_TOOLBOX_LINE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Selects some lines of a file that arrives in pieces, and counts all lines.
// Only the selected lines take memory.
class LineWindow {
 public:
  // Selects whole lines from line `first` on (the first line is 1): at most
  // `lines` (0: no limit), and at most `room` bytes together, after CleanText.
  // If already the first of them has no room, its beginning is taken.
  LineWindow(uint64_t first, uint64_t lines, size_t room);

  void Feed(absl::string_view bytes);
  // Call at the end of the file: a last line without a newline counts too.
  void Finish();

  // The selected lines, as text.
  const std::string& text() const { return text_; }
  // The first selected line, and one past the last.
  uint64_t begin() const { return first_; }
  uint64_t end() const { return next_; }
  // The number of lines so far.
  uint64_t total() const { return line_ - 1; }
  // How many bytes are missing from the last selected line.
  uint64_t cut_bytes() const { return cut_bytes_; }
  bool full() const { return full_; }

 private:
  // Adds a line, or the part of one that has arrived.
  void Append(absl::string_view bytes);
  void EndLine();

  const uint64_t first_;
  const uint64_t lines_;
  const size_t room_;
  uint64_t line_ = 1;        // the line of the next byte
  bool line_begun_ = false;  // it has bytes
  uint64_t next_;
  std::string pending_;  // the line that is being added
  uint64_t pending_cut_ = 0;
  std::string text_;
  uint64_t cut_bytes_ = 0;
  bool full_ = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_LINE_WINDOW_H_
