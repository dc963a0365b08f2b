#ifndef SANDGLASS_SERVER_RPC_REFUSED_MESSAGE_H_
#define SANDGLASS_SERVER_RPC_REFUSED_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sandglass::server {

// What stands in the place of a message that was refused by its length, before
// it was there: a message of twenty bytes, which the method that it is for
// answers with an error. It is a valid protobuf of two fields that no message
// has; a client that sends it itself gets the same error.
struct RefusedMessage {
  static constexpr size_t kBytes = 20;

  uint32_t length = 0;  // of the message, in bytes
  uint32_t most = 0;    // that a message may have; 0: there was no room for it

  std::array<uint8_t, kBytes> Encode() const;
  // nullopt: it is none.
  static std::optional<RefusedMessage> Decode(
      const std::array<uint8_t, kBytes>& bytes);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_REFUSED_MESSAGE_H_
