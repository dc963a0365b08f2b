#ifndef SANDGLASS_CLIENT_LLM_VIEW_H_
#define SANDGLASS_CLIENT_LLM_VIEW_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Converts for abseil's functions, whose view may be a different type.
inline absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_VIEW_H_
