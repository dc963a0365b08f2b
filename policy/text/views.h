#ifndef SANDGLASS_POLICY_TEXT_VIEWS_H_
#define SANDGLASS_POLICY_TEXT_VIEWS_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace sandglass::policy {

// Debian's abseil has a string_view of its own, which std's does not convert
// to, nor the other way round.
inline absl::string_view AbslView(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}
inline std::string_view StdView(absl::string_view text) {
  return std::string_view(text.data(), text.size());
}

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_VIEWS_H_
