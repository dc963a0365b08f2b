#ifndef SANDGLASS_TESTS_SUPPORT_NETWORK_HTTP2_BYTES_H_
#define SANDGLASS_TESTS_SUPPORT_NETWORK_HTTP2_BYTES_H_

// HTTP/2 as clients make it by hand (RFC 9113), with headers that are not
// compressed (RFC 7541).

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/edge/http2_frames.h"

namespace sandglass::testing {

// What a client says first, and an empty SETTINGS frame.
inline constexpr std::string_view kHttp2Hello(
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
inline constexpr uint8_t kEndHeaders = 4;

inline std::string Http2Bytes(uint8_t type, uint8_t flags, uint32_t stream,
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

// A string with its length, in up to 7 bits or in more bytes.
inline std::string HpackString(std::string_view text) {
  constexpr size_t kInOneByte = 127;
  std::string bytes;
  size_t size = text.size();
  if (size < kInOneByte) {
    bytes.push_back(static_cast<char>(size));
  } else {
    bytes.push_back(static_cast<char>(kInOneByte));
    for (size -= kInOneByte; size >= 128; size /= 128) {
      bytes.push_back(static_cast<char>(size % 128 + 128));
    }
    bytes.push_back(static_cast<char>(size));
  }
  return absl::StrCat(bytes, std::string(text));
}

// A header that the other side need not remember.
inline std::string Header(std::string_view name, std::string_view value) {
  return absl::StrCat(absl::string_view("\0", 1), HpackString(name),
                      HpackString(value));
}

// The headers of a call of this method, with what is in `more` behind them.
inline std::string CallHeaders(std::string_view method,
                               std::string_view more = "") {
  return absl::StrCat(Header(":method", "POST"), Header(":scheme", "http"),
                      Header(":path", method), Header(":authority", "a"),
                      Header("content-type", "application/grpc"),
                      Header("te", "trailers"), std::string(more));
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_NETWORK_HTTP2_BYTES_H_
