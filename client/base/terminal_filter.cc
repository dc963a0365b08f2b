#include "client/base/terminal_filter.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_format.h"

namespace sandglass::client {
namespace {

// A piece at the start of a byte string.
struct Piece {
  enum class Kind { kCharacter, kInvalid, kIncomplete } kind;
  size_t length;      // bytes that it consists of
  char32_t code = 0;  // if it is a character
};

// Decodes strictly: no overlong forms, no surrogates, nothing above U+10FFFF
// (the table of well-formed sequences in the Unicode standard, chapter 3).
Piece Decode(absl::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return {Piece::Kind::kCharacter, 1, first};
  size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0) return {Piece::Kind::kInvalid, 1};
  char32_t code = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (i >= bytes.size()) return {Piece::Kind::kIncomplete, i};
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
    if (i == 1) {
      if (first == 0xE0) low = 0xA0;
      if (first == 0xED) high = 0x9F;
      if (first == 0xF0) low = 0x90;
      if (first == 0xF4) high = 0x8F;
    }
    if (at(i) < low || at(i) > high) return {Piece::Kind::kInvalid, i};
    code = (code << 6) | (at(i) & 0x3F);
  }
  return {Piece::Kind::kCharacter, length, code};
}

bool IsDangerous(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) ||
         (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

void AppendBytesVisibly(absl::string_view bytes, std::string& out) {
  for (const char byte : bytes) {
    absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(byte));
  }
}

void AppendCodeVisibly(char32_t code, std::string& out) {
  const auto number = static_cast<uint32_t>(code);
  if (number < 0x80) {
    absl::StrAppendFormat(&out, "\\x%02x", number);
  } else {
    absl::StrAppendFormat(&out, "\\u%04x", number);
  }
}

// The text with bytes that are no character, and the characters of which
// `is_replaced` is true, written out.
template <typename Predicate>
std::string WithVisible(Predicate is_replaced, absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Piece piece = Decode(text);
    const absl::string_view raw = text.substr(0, piece.length);
    if (piece.kind != Piece::Kind::kCharacter) {
      AppendBytesVisibly(raw, out);
    } else if (is_replaced(piece.code)) {
      AppendCodeVisibly(piece.code, out);
    } else {
      out.append(raw.data(), raw.size());
    }
    text = text.substr(piece.length);
  }
  return out;
}

}  // namespace

std::string TerminalFilter::Feed(absl::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    joined = std::exchange(pending_, std::string());
    joined.append(bytes.data(), bytes.size());
    bytes = joined;
  }
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Piece piece = Decode(bytes);
    const absl::string_view raw = bytes.substr(0, piece.length);
    const absl::string_view rest = bytes.substr(piece.length);
    if (piece.kind == Piece::Kind::kIncomplete ||
        (raw == "\r" && rest.empty())) {
      pending_ = std::string(bytes);
      return out;
    }
    if (piece.kind == Piece::Kind::kInvalid) {
      AppendBytesVisibly(raw, out);
    } else if (raw == "\n" || raw == "\t" || !IsDangerous(piece.code) ||
               (raw == "\r" && rest.front() == '\n')) {
      out.append(raw.data(), raw.size());
    } else {
      AppendCodeVisibly(piece.code, out);
    }
    bytes = rest;
  }
  return out;
}

std::string TerminalFilter::Finish() {
  std::string out;
  AppendBytesVisibly(std::exchange(pending_, std::string()), out);
  return out;
}

std::string VisibleText(absl::string_view text) {
  return WithVisible(IsDangerous, text);
}

std::string AsciiText(absl::string_view text) {
  return WithVisible([](auto code) { return code >= 0x80; }, text);
}

size_t FindInvalidUtf8(absl::string_view text) {
  size_t place = 0;
  while (place < text.size()) {
    const Piece piece = Decode(text.substr(place));
    if (piece.kind != Piece::Kind::kCharacter) return place;
    place += piece.length;
  }
  return absl::string_view::npos;
}

bool IsPlainText(absl::string_view text) { return VisibleText(text) == text; }

}  // namespace sandglass::client
