#ifndef SANDGLASS_SANDBOX_FILE_AGENT_LINE_SEARCH_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_LINE_SEARCH_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace re2 {
class RE2;
}

namespace sandglass::sandbox {

// What is searched for in lines. Regular expressions are RE2's: for any pattern
// their time grows only with the text, and their memory is bounded. libc's
// engine guarantees neither. RE2 comes with gRPC, which the daemon links
// anyway.
class LinePattern {
 public:
  LinePattern();
  ~LinePattern();

  FileResult Parse(const std::string& pattern, bool regex, bool ignore_case);
  // Where a match begins and how long it is; false when there is none.
  bool Find(absl::string_view line, size_t& begin, size_t& length) const;

 private:
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
  // Reads the next line, without its end. Of a long line it gives the beginning
  // and sets `cut`. The line is valid until the next call. False at the end,
  // and also when reading fails.
  bool Next(absl::string_view& line, bool& cut);

 private:
  bool Fill();

  const os::Fd& file_;
  std::string buffer_;
  size_t start_ = 0;
  bool skipping_ = false;  // over the rest of a line that was cut
  bool ended_ = false;
};

// At most `max` bytes of `line`, around the match; never cuts a character in
// two.
absl::string_view CutLine(absl::string_view line, size_t begin, size_t length,
                          size_t max);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_LINE_SEARCH_H_
