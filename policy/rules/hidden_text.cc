#include "policy/rules/hidden_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace sandglass::policy {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
  const char* what;
};

// Unicode's Bidi_Control and Default_Ignorable_Code_Point, without those that
// ordinary text contains: joiners of scripts and emoji, soft hyphens, variation
// selectors.
constexpr Range kHidden[] = {
    {0x0000, 0x0008, "control character"},
    {0x000b, 0x000b, "vertical tab"},
    {0x000e, 0x001a, "control character"},
    {0x001c, 0x001f, "control character"},
    {0x007f, 0x007f, "delete"},
    {0x0085, 0x0085, "next line"},
    {0x061c, 0x061c, "Arabic letter mark"},
    {0x115f, 0x1160, "Hangul filler"},
    {0x180e, 0x180e, "Mongolian vowel separator"},
    {0x200b, 0x200b, "zero width space"},
    {0x200e, 0x200f, "direction mark"},
    {0x2028, 0x2029, "line or paragraph separator"},
    {0x202a, 0x202e, "direction override"},
    {0x2060, 0x2064, "invisible operator"},
    {0x2066, 0x2069, "direction isolate"},
    {0x206a, 0x206f, "deprecated format character"},
    {0x3164, 0x3164, "Hangul filler"},
    {0xfeff, 0xfeff, "zero width no-break space"},
    {0xffa0, 0xffa0, "Hangul filler"},
    {0xe0000, 0xe007f, "tag"},
};

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
};

// If the text isn't UTF-8, each byte counts as a character that hides nothing.
Character At(std::string_view text, size_t at) {
  constexpr uint32_t kNothing = 0xfffd;
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || at + bytes > text.size()) return {kNothing, 1};
  uint32_t code = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xc0u) != 0x80) return {kNothing, 1};
    code = (code << 6) | (next & 0x3fu);
  }
  return {code, bytes};
}

const Range* HiddenRange(uint32_t code) {
  const auto* range = std::find_if(
      std::begin(kHidden), std::end(kHidden),
      [code](const Range& r) { return r.first <= code && code <= r.last; });
  return range == std::end(kHidden) ? nullptr : range;
}

}  // namespace

std::optional<HiddenCharacter> FindHiddenText(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  std::optional<HiddenCharacter> found;
  uint32_t line = 1;
  size_t line_start = 0;
  size_t at = text.substr(0, kMark.size()) == kMark ? kMark.size() : 0;
  while (at < text.size()) {
    const Character character = At(text, at);
    // Nearly all characters are printable ASCII and need no search.
    const Range* range = character.code >= 0x20 && character.code < 0x7f
                             ? nullptr
                             : HiddenRange(character.code);
    if (range != nullptr && found) {
      ++found->count;
    } else if (range != nullptr) {
      found = {absl::StrCat("U+", absl::Hex(character.code, absl::kZeroPad4),
                            " (", range->what, ")"),
               line, static_cast<uint32_t>(at - line_start + 1), 1};
    }
    at += character.bytes;
    if (character.code == '\n') {
      ++line;
      line_start = at;
    }
  }
  return found;
}

}  // namespace sandglass::policy
