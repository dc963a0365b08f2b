#include "sandbox/egress/parse/wire_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace sandglass::egress {

std::string LowerAscii(std::string_view text) {
  return absl::AsciiStrToLower(AbslView(text));
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(AbslView(a), AbslView(b));
}

}  // namespace sandglass::egress
