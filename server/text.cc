#include "server/text.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sandglass::server {

std::string Quote(std::string_view text, size_t max_bytes) {
  const bool cut = text.size() > max_bytes;
  // The escaping is C's; between double quotes a single one needs none.
  const std::string escaped = absl::StrReplaceAll(
      absl::CHexEscape(AbslView(text.substr(0, max_bytes))), {{"\\'", "'"}});
  return absl::StrCat("\"", escaped, cut ? "…\"" : "\"");
}

bool IsPrintableAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c <= 0x7e; });
}

std::string ErrorText(int error) {
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : absl::StrCat("error ", error);
}

absl::Status WithPage(const absl::Status& error, absl::string_view page) {
  if (error.ok() || absl::StrContains(error.message(), "docs/")) return error;
  return absl::Status(error.code(),
                      absl::StrCat(error.message(), ". See ", page));
}

}  // namespace sandglass::server
