#include "sandbox/egress/parse/wire_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sandglass::egress {
namespace {

// Enough to recognise it; messages are logged.
constexpr size_t kMaxQuoted = 64;

}  // namespace

std::string QuoteWire(std::string_view bytes) {
  const std::string shown =
      absl::CHexEscape(AbslView(bytes.substr(0, kMaxQuoted)));
  return absl::StrCat("\"", shown, bytes.size() > kMaxQuoted ? "...\"" : "\"");
}

std::string LowerAscii(std::string_view text) {
  return absl::AsciiStrToLower(AbslView(text));
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(AbslView(a), AbslView(b));
}

}  // namespace sandglass::egress
