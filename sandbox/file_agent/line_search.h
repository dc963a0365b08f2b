#ifndef SANDGLASS_SANDBOX_FILE_AGENT_LINE_SEARCH_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_LINE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace re2 {
class RE2;
}

namespace sandglass::sandbox {

// A line, or a part of one that is too long to be held as a whole.
struct LinePiece {
  absl::string_view text;
  uint64_t offset = 0;  // of `text` in its line
  bool last = true;     // the line ends with it
};

// What is searched for in lines. Regular expressions are RE2's: for any pattern
// their time grows only with the text, and their memory is bounded. libc's
// engine guarantees neither. RE2 comes with gRPC, which the daemon links
// anyway.
class LinePattern {
 public:
  LinePattern();
  ~LinePattern();

  FileResult Parse(const std::string& pattern, bool regex, bool ignore_case);
  // Where in the piece a match begins and how long it is; false when there is
  // none.
  bool Find(const LinePiece& piece, size_t& begin, size_t& length) const;
  // Whether each match is so short that a line's pieces can't hide one.
  bool FindsAllInPieces() const { return is_text_; }

 private:
  bool is_text_ = false;
  std::string literal_;
  std::unique_ptr<re2::RE2> regex_;
};

// Reads the lines of a file, which may be of any length and may change
// meanwhile.
class LineReader {
 public:
  explicit LineReader(const os::Fd& file) : file_(file) {}

  // Whether the file isn't text, because its beginning has a NUL. Only before
  // Next.
  bool IsBinary();
  // Reads the beginning of the next line, without its end: nearly always the
  // whole. The piece is valid until the next call. False at the end, and also
  // when reading fails.
  bool Next(LinePiece& piece);
  // Reads the next piece of the same line after one that wasn't the last. It
  // begins with the end of the one before, so that what lies across the two is
  // found.
  void Continue(LinePiece& piece);

 private:
  bool Fill();
  bool ReadPiece(LinePiece& piece, size_t looked);

  const os::Fd& file_;
  std::string buffer_;
  size_t start_ = 0;
  uint64_t offset_ = 0;  // of `start_` in its line
  bool ended_ = false;
};

// At most `max` bytes of `line`, around the match; never cuts a character in
// two.
absl::string_view CutLine(absl::string_view line, size_t begin, size_t length,
                          size_t max);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_LINE_SEARCH_H_
