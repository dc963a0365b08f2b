#ifndef SANDGLASS_TESTS_SUPPORT_HEX_H_
#define SANDGLASS_TESTS_SUPPORT_HEX_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::testing {

// The bytes of "0aff…". Precondition: pairs of digits and nothing else.
// (Abseil's function for this has changed between its releases.)
inline std::string FromHex(absl::string_view digits) {
  const auto value = [](char digit) {
    return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
  };
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  }
  return bytes;
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_HEX_H_
