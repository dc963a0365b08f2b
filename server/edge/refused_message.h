#ifndef SANDGLASS_SERVER_EDGE_REFUSED_MESSAGE_H_
#define SANDGLASS_SERVER_EDGE_REFUSED_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sandglass::server {

// Takes the place of a message that was refused by its length before it had
// come. It is a message of twenty bytes, which the called method answers with
// an error. It is a valid protobuf with two fields that no message of ours has;
// a client that sends such a message itself gets the same error.
struct RefusedMessage {
  static constexpr size_t kBytes = 20;

  uint32_t length = 0;  // of the refused message, in bytes
  uint32_t max = 0;     // bytes that a message may have; 0: there was no room

  std::array<uint8_t, kBytes> Encode() const;
  // Returns nullopt when the bytes are no such message.
  static std::optional<RefusedMessage> Decode(
      const std::array<uint8_t, kBytes>& bytes);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_REFUSED_MESSAGE_H_
