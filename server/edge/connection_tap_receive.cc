// What comes from the socket, and what is held back of it.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "server/edge/connection_tap.h"
#include "server/edge/message_parts.h"

namespace sandglass::server {
namespace {

// The parts of a message's buffers from `offset` on.
std::vector<iovec> PartsFrom(const msghdr& message, size_t offset) {
  std::vector<iovec> parts;
  for (size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t skip = std::min(offset, part.iov_len);
    offset -= skip;
    if (part.iov_len > skip) {
      parts.push_back(
          {static_cast<char*>(part.iov_base) + skip, part.iov_len - skip});
    }
  }
  return parts;
}

size_t RoomIn(const msghdr& message) {
  size_t room = 0;
  for (size_t i = 0; i < message.msg_iovlen; ++i) {
    room += message.msg_iov[i].iov_len;
  }
  return room;
}

}  // namespace

std::optional<ssize_t> ConnectionTap::ReceiveSome(Receiver call, int fd,
                                                  msghdr* message, int flags) {
  const size_t held = held_bytes_;
  msghdr behind = *message;
  std::vector<iovec> parts;
  if (held > 0) {
    const size_t room = RoomIn(*message);
    if (room <= held) {
      // No control data of the socket comes with these bytes.
      message->msg_controllen = 0;
      message->msg_flags = 0;
      return GiveHeldAway(*message, room);
    }
    parts = PartsFrom(*message, held);
    behind.msg_iov = parts.data();
    behind.msg_iovlen = parts.size();
  }
  const ssize_t got = ReceiveRaw(call, fd, &behind, flags);
  message->msg_flags = behind.msg_flags;
  message->msg_controllen = behind.msg_controllen;
  if (got <= 0) return got;
  ++turn_;
  now_ = Now();
  received_bytes_ += static_cast<uint64_t>(got);
  tail_ = 0;
  type_ = nullptr;
  if (held > 0) PutHeld(*message);
  ForParts(behind, static_cast<size_t>(got),
           [this](uint8_t* data, size_t size) {
             mutex_.AssertHeld();
             Inspect(data, size);
           });
  if (broken_) {
    ::shutdown(fd, SHUT_RDWR);
    errno = ECONNRESET;
    return -1;
  }
  const size_t all = held + static_cast<size_t>(got);
  Hold(all);
  if (all == held_bytes_) return std::nullopt;
  return static_cast<ssize_t>(all - held_bytes_);
}

void ConnectionTap::PutHeld(const msghdr& message) {
  const bool of_frame = incoming_.in_head();
  // The held bytes are the last ones of the head that were read.
  const size_t first = of_frame ? incoming_.head_bytes() - held_bytes_ : 0;
  const auto found = streams_.find(tail_stream_);
  Stream* const stream =
      of_frame || found == streams_.end() ? nullptr : &found->second;
  if (stream != nullptr) {
    stream->turn = turn_;
    stream->fresh = static_cast<uint8_t>(stream->head_bytes - held_bytes_);
  }
  size_t put = 0;
  ForParts(message, held_bytes_, [&](uint8_t* data, size_t size) {
    mutex_.AssertHeld();
    for (size_t i = 0; i < size; ++i, ++put) {
      data[i] = held_[put];
      if (stream != nullptr) stream->places[stream->fresh + put] = data + i;
      if (of_frame && first + put == Http2Frame::kTypeAt) type_ = data + i;
    }
  });
  tail_ = of_frame ? 0 : held_bytes_;
  held_bytes_ = 0;
}

ssize_t ConnectionTap::GiveHeldAway(const msghdr& message, size_t room) {
  size_t put = 0;
  ForParts(message, room, [&](uint8_t* data, size_t size) {
    mutex_.AssertHeld();
    std::memcpy(data, held_.data() + put, size);
    put += size;
  });
  std::memmove(held_.data(), held_.data() + room, held_bytes_ - room);
  held_bytes_ -= room;
  return static_cast<ssize_t>(room);
}

void ConnectionTap::Hold(size_t bytes) {
  if (incoming_.in_head()) {
    const size_t head = incoming_.head_bytes();
    held_bytes_ = std::min(head, bytes);
    std::memcpy(held_.data(), incoming_.head() + head - held_bytes_,
                held_bytes_);
    return;
  }
  if (tail_ == 0) return;
  const auto found = streams_.find(tail_stream_);
  if (found == streams_.end()) return;
  const Stream& stream = found->second;
  if (stream.at != Stream::At::kHead) return;
  std::memcpy(held_.data(), stream.head.data() + stream.head_bytes - tail_,
              tail_);
  held_bytes_ = tail_;
}

}  // namespace sandglass::server
