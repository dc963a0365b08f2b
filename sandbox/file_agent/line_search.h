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

// What lines are looked for. A regular expression is RE2's: its time grows with
// the text alone, whatever the pattern, and its memory is bounded. libc's
// engine has neither; RE2 comes with gRPC, which the daemon has anyway.
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

// The lines of a file, which may be as long as they like and change meanwhile.
class LineReader {
 public:
  explicit LineReader(const os::Fd& file) : file_(file) {}

  // Whether the file's beginning is no text (has a NUL). Before Next only.
  bool IsBinary();
  // The next line without its end; of a long one the beginning, and `cut`.
  // Valid until the next call. False at the end, also where reading fails.
  bool Next(absl::string_view& line, bool& cut);

 private:
  bool Fill();

  const os::Fd& file_;
  std::string buffer_;
  size_t start_ = 0;
  bool skipping_ = false;  // what is left of a line that was cut
  bool ended_ = false;
};

// At most `most` bytes of `line`, around the match; never half a character.
absl::string_view CutLine(absl::string_view line, size_t begin, size_t length,
                          size_t most);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_LINE_SEARCH_H_
