#ifndef SANDGLASS_TESTS_UNIT_SERVER_EDGE_CONNECTION_TAP_FIXTURE_H_
#define SANDGLASS_TESTS_UNIT_SERVER_EDGE_CONNECTION_TAP_FIXTURE_H_

// A connection's bytes as a client and gRPC would send them, and what gRPC gets
// to see of them.

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "server/edge/connection_tap.h"
#include "server/edge/request_room.h"

namespace sandglass::server::tap_fixture {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr uint32_t kMax = 20000;

inline std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                         std::string_view payload) {
  std::string bytes;
  const auto size = static_cast<uint32_t>(payload.size());
  for (const uint32_t byte :
       {size >> 16, size >> 8, size, uint32_t{type}, uint32_t{flags},
        stream >> 24, stream >> 16, stream >> 8, stream}) {
    bytes.push_back(static_cast<char>(byte));
  }
  bytes.append(payload);
  return bytes;
}

inline std::string Headers(uint32_t stream) {
  return Frame(Http2Frame::kHeaders, 4, stream, "some headers");
}

inline std::string Prefix(uint32_t length) {
  std::string bytes(1, '\0');
  for (const uint32_t byte :
       {length >> 24, length >> 16, length >> 8, length}) {
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

// A message in DATA frames of up to `frame_bytes`.
inline std::string Message(uint32_t stream, std::string_view body,
                           size_t frame_bytes = 16384) {
  const std::string all =
      Prefix(static_cast<uint32_t>(body.size())) + std::string(body);
  std::string frames;
  for (size_t at = 0; at < all.size(); at += frame_bytes) {
    frames += Frame(Http2Frame::kData, 0, stream, all.substr(at, frame_bytes));
  }
  return frames;
}

// The socket: what is there to be received, in pieces of up to `piece`.
struct Wire {
  std::string bytes;
  size_t at = 0;
  size_t piece = 0;
};
inline Wire wire;

inline ssize_t ReceiveFromWire(int, msghdr* message, int) {
  size_t left = std::min(wire.piece, wire.bytes.size() - wire.at);
  if (left == 0) {
    errno = EAGAIN;
    return -1;
  }
  ssize_t got = 0;
  for (size_t i = 0; i < message->msg_iovlen && left > 0; ++i) {
    const iovec& part = message->msg_iov[i];
    const size_t size = std::min(left, part.iov_len);
    std::memcpy(part.iov_base, wire.bytes.data() + wire.at, size);
    wire.at += size;
    left -= size;
    got += static_cast<ssize_t>(size);
  }
  return got;
}

inline ssize_t SendAll(int, const msghdr* message, int) {
  ssize_t sent = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    sent += static_cast<ssize_t>(message->msg_iov[i].iov_len);
  }
  return sent;
}

// Sends as gRPC would.
inline void Send(ConnectionTap& tap, std::string bytes) {
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  EXPECT_EQ(tap.Send(&SendAll, -1, &message, 0),
            static_cast<ssize_t>(bytes.size()));
}

struct Seen {
  std::string bytes;
  bool ended = false;
};

// What gRPC gets of `bytes` that come in pieces of up to `piece`, into buffers
// of the sizes `buffers`.
inline Seen Receive(ConnectionTap& tap, const std::string& bytes, size_t piece,
                    const std::vector<size_t>& buffers) {
  wire = {bytes, 0, piece};
  Seen seen;
  while (true) {
    std::vector<std::string> parts;
    std::vector<iovec> iov;
    parts.reserve(buffers.size());
    iov.reserve(buffers.size());
    for (const size_t size : buffers) parts.emplace_back(size, '?');
    for (std::string& part : parts) iov.push_back({part.data(), part.size()});
    msghdr message{};
    message.msg_iov = iov.data();
    message.msg_iovlen = iov.size();
    ssize_t got = tap.Receive(&ReceiveFromWire, -1, &message, 0);
    if (got < 0) {
      seen.ended = errno == ECONNRESET;
      return seen;
    }
    for (const std::string& part : parts) {
      const auto size = std::min<size_t>(static_cast<size_t>(got), part.size());
      seen.bytes.append(part, 0, size);
      got -= static_cast<ssize_t>(size);
    }
  }
}

// All that the DATA frames of one stream have.
inline std::string DataOf(std::string bytes, uint32_t stream) {
  std::string data;
  Http2Frames frames;
  bytes.erase(0, kPreface.size());
  frames.Read(
      bytes.data(), bytes.size(), [](const Http2Frame&, const char*) {},
      [&](const Http2Frame& frame, const char* part, size_t size) {
        if (frame.type == Http2Frame::kData && frame.stream == stream) {
          data.append(part, size);
        }
      });
  return data;
}

class ConnectionTapTest : public ::testing::Test {
 protected:
  RequestRoom room_{4 * uint64_t{kMax}};
  ConnectionTap tap_{room_, "uid:1", kMax};
};

}  // namespace sandglass::server::tap_fixture

#endif  // SANDGLASS_TESTS_UNIT_SERVER_EDGE_CONNECTION_TAP_FIXTURE_H_
