#include "client/base/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sandglass::client {
namespace {

constexpr absl::string_view kDigits = "0123456789.";
constexpr double kMaxBytes = 1125899906842624.0;  // 1 PiB

absl::Status BadSize(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is no size: ", why, "; write for example 256M or 1.5G"));
}

}  // namespace

absl::StatusOr<absl::Duration> ParseTimeSpan(absl::string_view text) {
  absl::Duration duration;
  double seconds = 0;
  // SimpleAtod also accepts "inf" and "nan"; requiring digits excludes them.
  const bool plain =
      !text.empty() &&
      text.find_first_not_of(kDigits) == absl::string_view::npos &&
      absl::SimpleAtod(text, &seconds);
  if (plain) {
    duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &duration)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is no time: write for example 500ms, 5s or 1m30s"));
  }
  if (duration < absl::Milliseconds(1) || duration > absl::Hours(24 * 30)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is out of range: a time is 1ms to 720h"));
  }
  return absl::Trunc(duration, absl::Nanoseconds(1));
}

absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text) {
  const size_t split = std::min(text.find_first_not_of(kDigits), text.size());
  double number = 0;
  if (split == 0 || !absl::SimpleAtod(text.substr(0, split), &number)) {
    return BadSize(text, "it must start with a number");
  }
  const std::string unit = absl::AsciiStrToLower(text.substr(split));
  static constexpr std::array<std::pair<absl::string_view, double>, 5> kUnits =
      {{{"k", 1024.0},
        {"m", 1048576.0},
        {"g", 1073741824.0},
        {"t", 1099511627776.0},
        {"", 1.0}}};
  double factor = 0;
  for (const auto& [name, value] : kUnits) {
    const bool match = name.empty()
                           ? unit.empty() || unit == "b"
                           : unit == name || unit == absl::StrCat(name, "i") ||
                                 unit == absl::StrCat(name, "ib");
    if (match) factor = value;
  }
  if (factor == 0) return BadSize(text, "units are K, M, G and T (KiB, MiB…)");
  const double bytes = number * factor;
  if (bytes < 1 || bytes > kMaxBytes) {
    return BadSize(text, "it is out of range");
  }
  return static_cast<uint64_t>(bytes);
}

std::string FormatTimeSpan(absl::Duration duration) {
  // A clock that was set back makes a time negative.
  const double ms = std::max(absl::ToDoubleMilliseconds(duration), 0.0);
  if (ms < 1) return absl::StrFormat("%.2f ms", ms);
  if (ms < 999.95) return absl::StrFormat("%.1f ms", ms);
  if (ms < 99995) return absl::StrFormat("%.2f s", ms / 1000);
  return absl::StrFormat("%.0f s", ms / 1000);
}

std::string FormatLongTime(absl::Duration duration) {
  return absl::FormatDuration(
      absl::Trunc(std::max(duration, absl::ZeroDuration()), absl::Seconds(1)));
}

std::string FormatByteSize(uint64_t bytes) {
  static constexpr std::array<const char*, 6> kNames = {"B",   "KiB", "MiB",
                                                        "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // 1023.95 would be printed as "1024.0".
  while (value >= 1023.95 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  const double rounded = std::round(value * 10) / 10;
  return rounded == std::floor(rounded)
             ? absl::StrFormat("%.0f %s", rounded, kNames[unit])
             : absl::StrFormat("%.1f %s", rounded, kNames[unit]);
}

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) +
         absl::Nanoseconds(duration.nanos());
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  absl::Duration rest;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return proto;
}

}  // namespace sandglass::client
