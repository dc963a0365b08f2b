#include "policy/text/units.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sandglass::policy {
namespace {

// "1.50" becomes "1.5", "30.000" becomes "30".
std::string WithoutTrailingZeros(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would be printed as "1024.0".
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrCat(WithoutTrailingZeros(absl::StrFormat("%.1f", value)), " ",
                      kUnits[unit]);
}

std::string FormatTime(absl::Duration duration) {
  if (duration <= absl::ZeroDuration()) return "0 s";
  if (duration == absl::InfiniteDuration()) return "for ever";
  double value = absl::ToDoubleSeconds(duration);
  const char* unit = "s";
  if (duration < absl::Milliseconds(1)) {
    value = absl::ToDoubleMicroseconds(duration);
    unit = "us";
  } else if (duration < absl::Seconds(1)) {
    value = absl::ToDoubleMilliseconds(duration);
    unit = "ms";
  }
  return absl::StrCat(WithoutTrailingZeros(absl::StrFormat("%.3f", value)), " ",
                      unit);
}

}  // namespace sandglass::policy
