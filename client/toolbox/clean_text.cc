#include "client/toolbox/clean_text.h"

#include <limits>

#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr absl::string_view kNoUtf8 = "\xef\xbf\xbd";  // U+FFFD
constexpr absl::string_view kNul = "\xe2\x90\x80";     // U+2400
constexpr size_t kLongestCharacter = 4;

// A character and the text for it.
struct Step {
  size_t bytes = 1;
  absl::string_view text;
};

size_t LengthBy(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : kLongestCharacter;
}

// `bytes` is not empty.
Step FirstOf(absl::string_view bytes) {
  if (bytes[0] == '\0') return {1, kNul};
  const size_t length = LengthBy(static_cast<unsigned char>(bytes[0]));
  const absl::string_view character = bytes.substr(0, length);
  if (length == 1) return {1, character};
  const bool good = character.size() == length &&
                    FindInvalidUtf8(character) == absl::string_view::npos;
  return good ? Step{length, character} : Step{1, kNoUtf8};
}

size_t CleanSize(absl::string_view bytes) {
  size_t size = 0;
  while (!bytes.empty()) {
    const Step step = FirstOf(bytes);
    size += step.text.size();
    bytes.remove_prefix(step.bytes);
  }
  return size;
}

bool Continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace

CleanPiece CleanHead(absl::string_view bytes, size_t room) {
  CleanPiece piece;
  while (!bytes.empty()) {
    const Step step = FirstOf(bytes);
    if (piece.text.size() + step.text.size() > room) break;
    piece.text.append(step.text.data(), step.text.size());
    piece.taken += step.bytes;
    bytes.remove_prefix(step.bytes);
  }
  return piece;
}

CleanPiece CleanTail(absl::string_view bytes, size_t room) {
  // The text is never shorter than the bytes.
  if (bytes.size() > room) {
    bytes.remove_prefix(bytes.size() - room);
    for (size_t i = 1; i < kLongestCharacter && !bytes.empty(); ++i) {
      if (!Continues(bytes[0])) break;
      bytes.remove_prefix(1);
    }
  }
  size_t size = CleanSize(bytes);
  while (size > room) {
    const Step step = FirstOf(bytes);
    size -= step.text.size();
    bytes.remove_prefix(step.bytes);
  }
  return CleanHead(bytes, room);
}

std::string CleanText(absl::string_view bytes) {
  return CleanHead(bytes, std::numeric_limits<size_t>::max() / 2).text;
}

}  // namespace sandglass::client
