#ifndef SANDGLASS_SERVER_EDGE_HTTP2_FRAMES_H_
#define SANDGLASS_SERVER_EDGE_HTTP2_FRAMES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sandglass::server {

// The head of an HTTP/2 frame (RFC 9113, section 4.1).
struct Http2Frame {
  static constexpr size_t kHeadBytes = 9;
  static constexpr size_t kTypeAt = 3;  // within the head
  static constexpr uint8_t kData = 0;
  static constexpr uint8_t kHeaders = 1;
  static constexpr uint8_t kResetStream = 3;
  static constexpr uint8_t kSettings = 4;
  static constexpr uint8_t kPing = 6;
  static constexpr uint8_t kGoAway = 7;
  static constexpr uint8_t kWindowUpdate = 8;
  static constexpr uint8_t kContinuation = 9;
  // For kData and kHeaders: the sender sends no more on this stream.
  static constexpr uint8_t kEndStream = 1;
  // For kSettings and kPing: it answers one of the other side's.
  static constexpr uint8_t kAck = 1;

  uint32_t length = 0;  // of the payload, in bytes
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Finds the frames in one direction of a connection, whose bytes come in pieces
// that may begin and end anywhere. A client's preface isn't part of them.
class Http2Frames {
 public:
  // Reads the next piece, of uint8_t or const uint8_t. Calls on_frame(frame,
  // type) when a frame's head is complete: `type` points to the frame's type
  // within the piece, or is null when that was in an earlier piece. Calls
  // on_payload(frame, data, size) for each part of a payload.
  template <typename Byte, typename OnFrame, typename OnPayload>
  void Read(Byte* data, size_t size, const OnFrame& on_frame,
            const OnPayload& on_payload) {
    Byte* type = nullptr;
    Read(data, size, type, on_frame, on_payload);
  }

  // The same for pieces that stay in place for a while: the caller keeps `type`
  // from one piece to the next, and sets it to null when the piece that it
  // points into is gone.
  template <typename Byte, typename OnFrame, typename OnPayload>
  void Read(Byte* data, size_t size, Byte*& type, const OnFrame& on_frame,
            const OnPayload& on_payload) {
    while (size > 0) {
      if (left_ > 0) {
        const size_t part = std::min<size_t>(left_, size);
        on_payload(frame_, data, part);
        left_ -= static_cast<uint32_t>(part);
        data += part;
        size -= part;
        continue;
      }
      if (head_bytes_ == 0) type = nullptr;
      if (head_bytes_ == Http2Frame::kTypeAt) type = data;
      head_[head_bytes_++] = static_cast<uint8_t>(*data);
      ++data;
      --size;
      if (head_bytes_ < Http2Frame::kHeadBytes) continue;
      head_bytes_ = 0;
      Decode();
      left_ = frame_.length;
      on_frame(frame_, type);
    }
  }

  // Whether the last byte that was read belongs to a frame's head.
  bool in_head() const { return head_bytes_ > 0; }
  // So many bytes of the head are there, and these are they.
  size_t head_bytes() const { return head_bytes_; }
  const uint8_t* head() const { return head_.data(); }

 private:
  void Decode() {
    frame_.length =
        uint32_t{head_[0]} << 16 | uint32_t{head_[1]} << 8 | uint32_t{head_[2]};
    frame_.type = head_[Http2Frame::kTypeAt];
    frame_.flags = head_[4];
    // The first bit is reserved.
    frame_.stream = uint32_t{head_[5] & 0x7fu} << 24 |
                    uint32_t{head_[6]} << 16 | uint32_t{head_[7]} << 8 |
                    uint32_t{head_[8]};
  }

  std::array<uint8_t, Http2Frame::kHeadBytes> head_{};
  size_t head_bytes_ = 0;
  Http2Frame frame_;
  uint32_t left_ = 0;  // of the payload
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_HTTP2_FRAMES_H_
