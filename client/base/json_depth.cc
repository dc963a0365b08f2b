#include "client/base/json_depth.h"

#include <cstddef>

namespace sandglass::client {

bool IsDeeperJson(absl::string_view text, int max) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > max) return true;
  }
  return false;
}

}  // namespace sandglass::client
