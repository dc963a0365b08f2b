#ifndef SANDGLASS_POLICY_TEXT_UTF8_H_
#define SANDGLASS_POLICY_TEXT_UTF8_H_

#include <cstddef>
#include <string_view>

namespace sandglass::policy {

// True for well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool IsValidUtf8(std::string_view text);

// Of ConsumeUtf8Character: no character has this value or a larger one.
inline constexpr char32_t kNoCharacter = 0x200000;

// Takes one character off the front of `text`, which is not empty. A byte that
// begins no well-formed sequence counts alone; its value is kNoCharacter or
// more, and differs from byte to byte.
inline char32_t ConsumeUtf8Character(std::string_view& text) {
  const auto byte = [&text](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  char32_t value = length == 1 ? lead : lead & (0x7fu >> length);
  bool whole = length > 0 && length <= text.size();
  for (size_t i = 1; whole && i < length; ++i) {
    whole = (byte(i) & 0xc0) == 0x80;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  // Longer than needed, a surrogate, or past Unicode's end.
  if ((length == 3 && (value < 0x800 || (value >> 11) == 0x1b)) ||
      (length == 4 && (value < 0x10000 || value > 0x10ffff))) {
    whole = false;
  }
  text.remove_prefix(whole ? length : 1);
  return whole ? value : kNoCharacter | lead;
}

// Whether a byte goes on with a character that another has begun.
inline bool IsUtf8Continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// How many bytes, `max` or a few less, end where a character does: where to
// cut a text. `text` is UTF-8.
inline size_t WholeCharacters(std::string_view text, size_t max) {
  if (max >= text.size()) return text.size();
  while (max > 0 && IsUtf8Continuation(text[max])) --max;
  return max;
}

// How many bytes at the end of `text` begin a character whose rest is missing;
// 0 to 3.
inline size_t CutCharacterAtEnd(std::string_view text) {
  size_t size = 1;
  while (size < 4 && size < text.size() &&
         IsUtf8Continuation(text[text.size() - size])) {
    ++size;
  }
  if (size > text.size()) return 0;
  const auto lead = static_cast<unsigned char>(text[text.size() - size]);
  const size_t length = lead >= 0xf0   ? 4
                        : lead >= 0xe0 ? 3
                        : lead >= 0xc2 ? 2
                                       : 1;
  return lead < 0xf5 && size < length ? size : 0;
}

// How many bytes at the start of `text` go on with a character whose beginning
// is missing; 0 to 3.
inline size_t CutCharacterAtStart(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && IsUtf8Continuation(text[size])) ++size;
  return size > 3 ? 0 : size;
}

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_UTF8_H_
