#include "policy/text/utf8.h"

namespace sandglass::policy {

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    if (ConsumeUtf8Character(text) >= kNoCharacter) return false;
  }
  return true;
}

}  // namespace sandglass::policy
