#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_PATTERNS_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_PATTERNS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Expands {a,b} in a pattern to every combination, nested ones included. Braces
// without a comma or without their other half stand for themselves, as do those
// in a bracket expression. False when there are more than `max` combinations.
bool ExpandBraces(absl::string_view pattern, size_t max,
                  std::vector<std::string>& expanded);

// One pattern of a Glob, without braces.
class PathPattern {
 public:
  // Patterns with a slash are relative to `base`, which is absolute. Fails with
  // kInvalidPattern.
  static FileResult Parse(absl::string_view base, absl::string_view pattern,
                          bool hidden, PathPattern& parsed);

  // The directory below which all possible matches are.
  const std::string& base() const { return base_; }
  // Whether a path below base() matches.
  bool Matches(absl::string_view path) const;
  // Whether anything below the directory `path`, which is itself below base(),
  // could match. `depth` is the number of its segments.
  bool MayHold(absl::string_view path, size_t depth) const;

 private:
  std::string base_;
  std::string pattern_;  // below base_, or for names at any depth
  bool by_name_ = false;
  bool hidden_ = false;
  bool names_dots_ = false;  // a segment begins with a dot
  bool any_depth_ = false;
  size_t segments_ = 0;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_PATTERNS_H_
