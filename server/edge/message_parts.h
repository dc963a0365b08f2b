#ifndef SANDGLASS_SERVER_EDGE_MESSAGE_PARTS_H_
#define SANDGLASS_SERVER_EDGE_MESSAGE_PARTS_H_

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sandglass::server {

// Calls `look(data, size)` for each part of the message's first `bytes` bytes.
template <typename Look>
void ForParts(const msghdr& message, size_t bytes, const Look& look) {
  for (size_t i = 0; i < message.msg_iovlen && bytes > 0; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t size = std::min(bytes, part.iov_len);
    look(static_cast<uint8_t*>(part.iov_base), size);
    bytes -= size;
  }
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_MESSAGE_PARTS_H_
