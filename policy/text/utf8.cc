#include "policy/text/utf8.h"

#include <cstdint>

namespace sandglass::policy {
namespace {

// Bytes that follow a lead byte, with the range of the first of them; a length
// of 0 marks a byte that can't lead.
struct Utf8Lead {
  int following = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
};

Utf8Lead LeadOf(uint8_t byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return {1};
  if (byte == 0xe0) return {2, 0xa0, 0xbf};
  if (byte == 0xed) return {2, 0x80, 0x9f};
  if (byte >= 0xe1 && byte <= 0xef) return {2};
  if (byte == 0xf0) return {3, 0x90, 0xbf};
  if (byte >= 0xf1 && byte <= 0xf3) return {3};
  if (byte == 0xf4) return {3, 0x80, 0x8f};
  return {0};
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto byte = static_cast<uint8_t>(text[i++]);
    if (byte < 0x80) continue;
    const Utf8Lead lead = LeadOf(byte);
    if (lead.following == 0) return false;
    for (int n = 0; n < lead.following; ++n) {
      if (i == text.size()) return false;
      const auto next = static_cast<uint8_t>(text[i++]);
      const uint8_t low = n == 0 ? lead.low : 0x80;
      const uint8_t high = n == 0 ? lead.high : 0xbf;
      if (next < low || next > high) return false;
    }
  }
  return true;
}

}  // namespace sandglass::policy
