#ifndef SANDGLASS_POLICY_TEXT_UNITS_H_
#define SANDGLASS_POLICY_TEXT_UNITS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace sandglass::policy {

// A size for people: "256 MiB", "1.5 KiB", "17 B". Rounded to one decimal.
std::string FormatBytes(uint64_t bytes);

// A time for people: "30 s", "1.25 s", "500 ms", "80 us". Rounded to three
// decimals; a negative time becomes "0 s".
std::string FormatTime(absl::Duration duration);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_UNITS_H_
