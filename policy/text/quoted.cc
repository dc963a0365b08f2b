#include "policy/text/quoted.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sandglass::policy {

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 80;
  const absl::string_view shown(text.data(), std::min(text.size(), kShown));
  return absl::StrCat("\"", absl::CEscape(shown),
                      text.size() > kShown ? "…\"" : "\"");
}

}  // namespace sandglass::policy
