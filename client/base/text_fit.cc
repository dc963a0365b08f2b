#include "client/base/text_fit.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sandglass::client {
namespace {

constexpr char kEllipsis[] = "…";

struct Range {
  char32_t first, last;
};
constexpr std::array<Range, 4> kMarks = {
    {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};
constexpr std::array<Range, 10> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0xA4CF},
                                          {0xA960, 0xA97F},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};

template <size_t N>
bool IsIn(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

// The character at the beginning of the text: its bytes and its columns.
std::pair<size_t, size_t> FirstOf(absl::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  size_t bytes = 1;
  while (bytes < text.size() &&
         (static_cast<uint8_t>(text[bytes]) & 0xC0) == 0x80) {
    ++bytes;
  }
  if (lead < 0x80) return {bytes, 1};
  char32_t code = lead & (0xFF >> (std::min<size_t>(bytes, 4) + 1));
  for (size_t i = 1; i < bytes; ++i) {
    code = (code << 6) | (static_cast<uint8_t>(text[i]) & 0x3F);
  }
  if (IsIn(kMarks, code)) return {bytes, 0};
  return {bytes, IsIn(kWide, code) ? 2 : 1};
}

// The number of bytes of the longest beginning that fits into `width` columns.
size_t BytesWithin(absl::string_view text, size_t width) {
  size_t end = 0;
  size_t used = 0;
  while (end < text.size()) {
    const auto [bytes, places] = FirstOf(text.substr(end));
    if (used + places > width) break;
    end += bytes;
    used += places;
  }
  return end;
}

}  // namespace

size_t DisplayWidth(absl::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const auto [bytes, places] = FirstOf(text);
    width += places;
    text.remove_prefix(bytes);
  }
  return width;
}

std::string FitTo(absl::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  return absl::StrCat(text.substr(0, BytesWithin(text, width - 1)), kEllipsis);
}

std::string PadTo(absl::string_view text, size_t width) {
  const size_t has = DisplayWidth(text);
  return absl::StrCat(text, std::string(has < width ? width - has : 0, ' '));
}

std::vector<std::string> WrapText(absl::string_view text, size_t width) {
  if (width == 0) return {std::string(text)};
  std::vector<std::string> lines;
  while (DisplayWidth(text) > width) {
    // A character that is wider than the line gets a line nevertheless.
    const size_t max = std::max(BytesWithin(text, width), FirstOf(text).first);
    // The line may also break at a space directly after it.
    const size_t space = text.substr(0, max + 1).rfind(' ');
    const bool at_space = space != absl::string_view::npos && space > 0;
    const size_t end = at_space ? space : max;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(at_space ? end + 1 : end);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace sandglass::client
