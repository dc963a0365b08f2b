#include "server/edge/trace_context.h"

#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr char kHeader[] = "traceparent";
// The offsets in "00-", 32 digits, "-", 16 digits, "-", 2 digits.
constexpr size_t kVersionEnd = 2;
constexpr size_t kTraceBegin = 3;
constexpr size_t kTraceDigits = 32;
constexpr size_t kTraceEnd = kTraceBegin + kTraceDigits;
constexpr size_t kParentBegin = kTraceEnd + 1;
constexpr size_t kParentDigits = 16;
constexpr size_t kParentEnd = kParentBegin + kParentDigits;
constexpr size_t kFlagsBegin = kParentEnd + 1;
constexpr size_t kLength = kFlagsBegin + 2;

bool IsZero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

std::string ParseTraceparent(std::string_view value) {
  if (value.size() < kLength || value[kVersionEnd] != '-' ||
      value[kTraceEnd] != '-' || value[kParentEnd] != '-') {
    return "";
  }
  const std::string_view version = value.substr(0, kVersionEnd);
  const std::string_view trace = value.substr(kTraceBegin, kTraceDigits);
  const std::string_view parent = value.substr(kParentBegin, kParentDigits);
  if (!IsLowerHex(version) || version == "ff" || !IsLowerHex(trace) ||
      IsZero(trace) || !IsLowerHex(parent) || IsZero(parent) ||
      !IsLowerHex(value.substr(kFlagsBegin, kLength - kFlagsBegin))) {
    return "";
  }
  if (value.size() > kLength && (version == "00" || value[kLength] != '-')) {
    return "";
  }
  return std::string(trace);
}

std::string TraceIdOf(const grpc::ServerContextBase& context) {
  const auto [first, last] = context.client_metadata().equal_range(kHeader);
  if (first == last || std::next(first) != last) return "";
  return ParseTraceparent({first->second.data(), first->second.size()});
}

}  // namespace sandglass::server
