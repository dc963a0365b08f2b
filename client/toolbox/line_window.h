#ifndef SANDGLASS_CLIENT_TOOLBOX_LINE_WINDOW_H_
#define SANDGLASS_CLIENT_TOOLBOX_LINE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Some lines of a file that comes piece by piece, and how many it has. Takes
// memory for the lines that are wanted alone.
class LineWindow {
 public:
  // From line `first` (the first is 1) at most `lines` (0: no bound of their
  // own), whole ones, of `room` bytes together as CleanText has them. Of a line
  // that has no room by itself the beginning is taken.
  LineWindow(uint64_t first, uint64_t lines, size_t room);

  void Feed(absl::string_view bytes);
  // At the file's end: a line without its newline counts.
  void Finish();

  // What was taken, as text.
  const std::string& text() const { return text_; }
  // The first line and one past the last that were taken.
  uint64_t begin() const { return first_; }
  uint64_t end() const { return next_; }
  // Lines so far.
  uint64_t total() const { return line_ - 1; }
  // Bytes that are missing of the last line taken.
  uint64_t cut_bytes() const { return cut_bytes_; }
  bool full() const { return full_; }

 private:
  // Takes a line, or the part of one that there is.
  void Take(absl::string_view bytes);
  void EndLine();

  const uint64_t first_;
  const uint64_t lines_;
  const size_t room_;
  uint64_t line_ = 1;        // that the next byte is in
  bool line_begun_ = false;  // it has bytes
  uint64_t next_;
  std::string pending_;  // the line that is being taken
  uint64_t pending_cut_ = 0;
  std::string text_;
  uint64_t cut_bytes_ = 0;
  bool full_ = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_LINE_WINDOW_H_
