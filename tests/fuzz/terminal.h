#ifndef SANDGLASS_TESTS_FUZZ_TERMINAL_H_
#define SANDGLASS_TESTS_FUZZ_TERMINAL_H_

#include <string_view>

#include "tests/fuzz/fuzz.h"

namespace sandglass::fuzz {

enum class Lines { kOne, kMany };

// By bytes alone, so that it owes nothing to the code under test: no C0
// control but line feeds and tabs (a carriage return before a line feed), no
// DEL, no C1 control, no bidirectional override or isolate.
inline void CheckHarmless(std::string_view text, Lines lines) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](size_t n) {
      return i + n < text.size() ? static_cast<uint8_t>(text[i + n]) : 0;
    };
    if (lines == Lines::kMany &&
        (at(0) == '\n' || at(0) == '\t' || (at(0) == '\r' && at(1) == '\n'))) {
      continue;
    }
    FUZZ_CHECK(at(0) >= 0x20 && at(0) != 0x7f);
    FUZZ_CHECK(!(at(0) == 0xc2 && at(1) >= 0x80 && at(1) <= 0x9f));
    FUZZ_CHECK(
        !(at(0) == 0xe2 && at(1) == 0x80 && at(2) >= 0xaa && at(2) <= 0xae));
    FUZZ_CHECK(
        !(at(0) == 0xe2 && at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9));
  }
}

}  // namespace sandglass::fuzz

#endif  // SANDGLASS_TESTS_FUZZ_TERMINAL_H_
