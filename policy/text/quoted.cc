#include "policy/text/quoted.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "policy/text/views.h"

namespace sandglass::policy {

std::string Quoted(std::string_view text, size_t max_bytes) {
  const bool cut = text.size() > max_bytes;
  // CHexEscape escapes as in C, but between double quotes a single quote needs
  // no escape.
  const std::string escaped = absl::StrReplaceAll(
      absl::CHexEscape(AbslView(text.substr(0, max_bytes))), {{"\\'", "'"}});
  return absl::StrCat("\"", escaped, cut ? "...\"" : "\"");
}

}  // namespace sandglass::policy
