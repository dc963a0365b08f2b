#include "server/base/strings.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/text/docs_page.h"

namespace sandglass::server {

std::string AsUtf8(std::string_view bytes) {
  if (IsValidUtf8(bytes)) return std::string(bytes);
  constexpr size_t kLongest = 4;
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string text;
  while (!bytes.empty()) {
    size_t size = 1;
    while (size <= std::min(kLongest, bytes.size()) &&
           !IsValidUtf8(bytes.substr(0, size))) {
      ++size;
    }
    if (size > std::min(kLongest, bytes.size())) {
      text += kReplacement;
      size = 1;
    } else {
      text += bytes.substr(0, size);
    }
    bytes.remove_prefix(size);
  }
  return text;
}

std::string Shorten(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const size_t end = WholeCharacters(StdView(text), max_bytes);
  return absl::StrCat(text.substr(0, end), "…");
}

bool IsPrintableAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isprint);
}

bool IsLowerHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

absl::Status WithPage(const absl::Status& error, absl::string_view page) {
  if (error.ok() || absl::StrContains(error.message(), "docs/")) return error;
  return absl::Status(error.code(),
                      absl::StrCat(error.message(), ". See ",
                                   policy::DocsPage(policy::StdView(page))));
}

}  // namespace sandglass::server
