#include "client/connection/traceparent.h"

#include <algorithm>
#include <cstdlib>

namespace sandglass::client {
namespace {

constexpr size_t kLength = 55;
// The places of the dashes: after version, trace and parent.
constexpr size_t kDashes[] = {2, 35, 52};

// Upper case isn't well-formed.
bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool IsZero(absl::string_view text) {
  return text.find_first_not_of('0') == absl::string_view::npos;
}

}  // namespace

bool IsTraceparent(absl::string_view text) {
  if (text.size() < kLength) return false;
  for (const size_t dash : kDashes) {
    if (text[dash] != '-') return false;
  }
  const absl::string_view version = text.substr(0, 2);
  const absl::string_view trace = text.substr(3, 32);
  const absl::string_view parent = text.substr(36, 16);
  const absl::string_view flags = text.substr(53, 2);
  if (!IsHex(version) || !IsHex(trace) || !IsHex(parent) || !IsHex(flags) ||
      IsZero(trace) || IsZero(parent) || version == "ff") {
    return false;
  }
  if (text.size() == kLength) return true;
  // Metadata has to be printable ASCII.
  return version != "00" && text[kLength] == '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

std::string EnvironmentTraceparent() {
  // Nobody changes the environment once there are threads.
  const char* text =
      std::getenv("TRACEPARENT");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr && IsTraceparent(text) ? text : "";
}

}  // namespace sandglass::client
