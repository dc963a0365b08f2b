#ifndef SANDGLASS_GATEWAY_CONNECT_ENVELOPE_H_
#define SANDGLASS_GATEWAY_CONNECT_ENVELOPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sandglass::gateway {

// Messages in a stream, as Connect and gRPC-Web frame them alike: a byte of
// flags, the length in four bytes with the high one first, the message.
inline constexpr size_t kEnvelopeHead = 5;
inline constexpr uint8_t kMessageFlags = 0x00;
inline constexpr uint8_t kCompressedFlag = 0x01;
inline constexpr uint8_t kConnectEndFlag = 0x02;
inline constexpr uint8_t kGrpcWebTrailersFlag = 0x80;

// Appends a message with its head. It has less than 4 GiB.
void AppendEnvelope(uint8_t flags, std::string_view message, std::string& out);

// Reads a request's stream, whatever the pieces in which it comes. It takes
// memory for what has come, not for what a length promises.
class EnvelopeReader {
 public:
  enum class State : uint8_t { kMore, kMessage, kRefused };

  enum class Compression : uint8_t { kNone, kNamed };

  // A message may have `max_bytes`. It may be compressed where the stream names
  // how.
  explicit EnvelopeReader(size_t max_bytes,
                          Compression compression = Compression::kNone)
      : max_bytes_(max_bytes), compression_(compression) {}

  // Takes bytes off the front of `data`, up to the end of a message. After
  // kMessage the message is there until the next call, and there may be more in
  // `data`; after kRefused it takes nothing more.
  State Feed(std::string_view& data);

  // Of kMessage; may be moved from.
  std::string& message() { return message_; }
  bool compressed() const { return head_[0] == kCompressedFlag; }
  // Of kRefused. RESOURCE_EXHAUSTED with "MESSAGE_TOO_LARGE" for a length above
  // the bound, as soon as it is known; INVALID_ARGUMENT with "BAD_ENVELOPE" for
  // flags that no request's message has.
  const absl::Status& refusal() const { return refusal_; }

  // What the end of the stream here means: OK between messages, else
  // INVALID_ARGUMENT with "BAD_ENVELOPE".
  absl::Status Finish() const;

 private:
  bool ReadHead();

  const size_t max_bytes_;
  const Compression compression_;
  std::array<uint8_t, kEnvelopeHead> head_{};
  size_t head_bytes_ = 0;  // of the head that have come
  size_t length_ = 0;      // of the message, once the head is whole
  bool whole_ = false;     // the last call returned kMessage
  std::string message_;
  absl::Status refusal_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_ENVELOPE_H_
