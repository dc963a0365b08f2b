#include "server/edge/refused_message.h"

#include <algorithm>

namespace sandglass::server {
namespace {

// The keys of the two highest field numbers that are possible, as varints.
constexpr size_t kKeyBytes = 5;
constexpr size_t kValueBytes = 5;
constexpr std::array<uint8_t, kKeyBytes> kLengthKey = {0xf8, 0xff, 0xff, 0xff,
                                                       0x0f};
constexpr std::array<uint8_t, kKeyBytes> kMaxKey = {0xf0, 0xff, 0xff, 0xff,
                                                    0x0f};
static_assert(2 * (kKeyBytes + kValueBytes) == RefusedMessage::kBytes);

// Writes a key and a varint that always has five bytes.
uint8_t* Put(uint8_t* at, const std::array<uint8_t, kKeyBytes>& key,
             uint32_t value) {
  at = std::copy(key.begin(), key.end(), at);
  for (size_t i = 0; i < kValueBytes; ++i) {
    const bool last = i + 1 == kValueBytes;
    *at++ = static_cast<uint8_t>((value & 0x7f) | (last ? 0 : 0x80));
    value >>= 7;
  }
  return at;
}

bool Get(const uint8_t*& at, const std::array<uint8_t, kKeyBytes>& key,
         uint32_t& value) {
  if (!std::equal(key.begin(), key.end(), at)) return false;
  at += kKeyBytes;
  uint64_t all = 0;
  for (size_t i = 0; i < kValueBytes; ++i) {
    all |= uint64_t{*at++ & 0x7fu} << (7 * i);
  }
  value = static_cast<uint32_t>(all);
  return true;
}

}  // namespace

std::array<uint8_t, RefusedMessage::kBytes> RefusedMessage::Encode() const {
  std::array<uint8_t, kBytes> bytes{};
  Put(Put(bytes.data(), kLengthKey, length), kMaxKey, max);
  return bytes;
}

std::optional<RefusedMessage> RefusedMessage::Decode(
    const std::array<uint8_t, kBytes>& bytes) {
  RefusedMessage refused;
  const uint8_t* at = bytes.data();
  if (!Get(at, kLengthKey, refused.length) || !Get(at, kMaxKey, refused.max)) {
    return std::nullopt;
  }
  return refused;
}

}  // namespace sandglass::server
