#include "tests/support/text.h"

#include "absl/strings/str_split.h"

namespace sandglass::testing {

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

std::vector<std::string> Words(const std::string& text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
}

}  // namespace sandglass::testing
