#include "gateway/connect/base64.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "policy/text/views.h"

namespace sandglass::gateway {

using policy::AbslView;

std::optional<std::string> DecodeBase64(std::string_view text) {
  const size_t digits = text.find_last_not_of('=') + 1;
  const size_t padding = text.size() - digits;
  if (digits % 4 == 1) return std::nullopt;
  if (padding > 2 || (padding != 0 && text.size() % 4 != 0)) {
    return std::nullopt;
  }
  std::string plain(text.substr(0, digits));
  // One alphabet; the library takes no mixture.
  for (char& c : plain) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  const bool known = std::all_of(plain.begin(), plain.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' ||
           c == '/';
  });
  std::string bytes;
  if (!known || !absl::Base64Unescape(plain, &bytes)) return std::nullopt;
  return bytes;
}

std::string UnpaddedBase64(std::string_view bytes) {
  std::string text = absl::Base64Escape(AbslView(bytes));
  text.resize(text.find_last_not_of('=') + 1);
  return text;
}

}  // namespace sandglass::gateway
