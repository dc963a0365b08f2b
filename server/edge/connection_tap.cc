#include "server/edge/connection_tap.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "server/edge/message_parts.h"

namespace sandglass::server {
namespace {

// So much of a call is covered by what a call takes anyway.
constexpr uint64_t kFreeBytes = 4096;
// gRPC lets a connection have a quarter of this at a time, but only once the
// client has acknowledged its SETTINGS. Until then, which may be never, gRPC
// takes as many as come, and this is the only bound. A client that begins calls
// before it has read the SETTINGS may have somewhat more than a quarter.
constexpr size_t kMaxStreams = 1024;
// Bounds for the headers of one call and the frames in which they come: gRPC
// bounds each frame of them, but not all together.
constexpr uint64_t kMaxHeaderBytes = 32 * 1024;
constexpr int kMaxContinuations = 8;
constexpr uint32_t kResetBytes = 4;
constexpr size_t kWindowUpdateBytes = 4;
// Bounds for calls that are reset before their end: in a row, and per second. A
// client may cancel all its open calls, 256, at once several times. But opening
// a call and resetting it costs a client nothing, and no bound on open calls
// stops that.
constexpr double kMaxResets = 1024;
constexpr double kResetsPerSecond = 512;
// A bound for pings between two answers. gRPC ends a connection by itself after
// a few within five seconds, but not before it has read all that came, with an
// error and a GOAWAY of a kilobyte for each.
constexpr int kMaxPings = 100;
// No frame has this type, so gRPC ignores it.
constexpr uint8_t kNoFrameType = 0xff;
// Marks the end of HEADERS: no CONTINUATION follows.
constexpr uint8_t kEndHeaders = 4;
// Replaces a refused message's bytes: gRPC takes it for the beginning of a
// message of an unknown kind and, once the method reads, keeps nothing of it.
constexpr uint8_t kNoMessage = 2;

std::atomic<bool>& Hidden() {
  static std::atomic<bool> hidden{false};
  return hidden;
}

// The room that a call needs when `came` bytes of messages have come, of which
// one with `length` is still on its way.
uint64_t RoomFor(uint64_t came, uint64_t length) {
  if (came <= kFreeBytes) return 0;
  return std::max(length,
                  std::min<uint64_t>(came, ConnectionTap::kWindowBytes));
}

}  // namespace

ConnectionTap::ConnectionTap(RequestRoom& room, std::string caller,
                             uint32_t max_message_bytes,
                             std::unique_ptr<TlsSocket> tls)
    : room_(room),
      caller_(std::move(caller)),
      max_message_bytes_(max_message_bytes),
      tls_(std::move(tls)) {}

ConnectionTap::~ConnectionTap() { Close(); }

void ConnectionTap::HideNewCalls(bool hide) { Hidden() = hide; }

void ConnectionTap::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  if (tls_) tls_->Close();
  for (auto& [id, stream] : streams_) GiveBack(stream);
  unfinished_.clear();
  streams_.clear();
}

ConnectionTap::State ConnectionTap::state() const {
  absl::MutexLock lock(&mutex_);
  State state = {.speaks = preface_bytes_ == kPreface.size(),
                 .open_calls = streams_.size(),
                 .began = began_,
                 .since = now_,
                 .received_bytes = received_bytes_,
                 .sent_bytes = sent_bytes_};
  if (!unfinished_.empty()) state.unfinished_since = unfinished_.front()->last;
  return state;
}

ssize_t ConnectionTap::Receive(Receiver call, int fd, msghdr* message,
                               int flags) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return ReceiveRaw(call, fd, message, flags);
  while (true) {
    const std::optional<ssize_t> received =
        ReceiveSome(call, fd, message, flags);
    if (received.has_value()) return *received;
  }
}

void ConnectionTap::Inspect(uint8_t* data, size_t size) {
  while (size > 0 && preface_bytes_ < kPreface.size()) {
    if (*data != static_cast<uint8_t>(kPreface[preface_bytes_])) {
      broken_ = true;
      return;
    }
    ++preface_bytes_;
    ++data;
    --size;
  }
  incoming_.Read(
      data, size, type_,
      [this](const Http2Frame& frame, uint8_t* type) {
        mutex_.AssertHeld();
        InspectFrame(frame, type);
      },
      [this](const Http2Frame& frame, uint8_t* part, size_t bytes) {
        mutex_.AssertHeld();
        if (frame.type == Http2Frame::kResetStream) {
          InspectReset(frame.stream, bytes);
        } else {
          InspectData(frame, part, bytes);
        }
      });
}

void ConnectionTap::InspectFrame(const Http2Frame& frame, uint8_t* type) {
  tail_ = 0;
  switch (frame.type) {
    case Http2Frame::kHeaders:
      header_bytes_ = frame.length;
      continuations_ = 0;
      broken_ = broken_ || header_bytes_ > kMaxHeaderBytes;
      hiding_ = Hidden() && type != nullptr &&
                streams_.find(frame.stream) == streams_.end();
      if (hiding_) {
        *type = kNoFrameType;
        hiding_ = (frame.flags & kEndHeaders) == 0;
        return;
      }
      // gRPC ignores all other streams, as they begin no call.
      if (frame.stream % 2 == 1 && frame.stream > last_stream_) {
        last_stream_ = frame.stream;
        streams_.try_emplace(frame.stream);
      }
      if (streams_.size() > kMaxStreams) broken_ = true;
      return;
    case Http2Frame::kContinuation:
      header_bytes_ += frame.length;
      broken_ = broken_ || header_bytes_ > kMaxHeaderBytes ||
                ++continuations_ > kMaxContinuations;
      if (hiding_ && type != nullptr) *type = kNoFrameType;
      return;
    case Http2Frame::kPing:
      if ((frame.flags & Http2Frame::kAck) == 0) ++pings_;
      broken_ = broken_ || pings_ > kMaxPings;
      return;
    case Http2Frame::kResetStream:
      reset_left_ = kResetBytes;
      broken_ = broken_ || frame.length != kResetBytes;
      return;
    default:
      return;
  }
}

// gRPC keeps what it has of the call until it has the whole frame.
void ConnectionTap::InspectReset(uint32_t id, size_t size) {
  reset_left_ -= std::min(reset_left_, size);
  if (reset_left_ == 0) Reset(id);
}

void ConnectionTap::InspectWindowUpdate(uint32_t id, const uint8_t* data,
                                        size_t size) {
  for (; size > 0 && update_left_ > 0; --size, --update_left_) {
    update_ = update_ << 8 | *data++;
  }
  if (update_left_ > 0) return;
  const auto found = streams_.find(id);
  // For the whole connection, or the call is over.
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  stream.window += update_ & 0x7fffffff;
  stream.last = now_;
  RecordProgress(stream);
}

void ConnectionTap::Reset(uint32_t id) {
  if (streams_.find(id) == streams_.end()) return;
  const double seconds =
      std::chrono::duration<double>(now_ - resets_at_).count();
  resets_at_ = now_;
  resets_ = std::max(0.0, resets_ - seconds * kResetsPerSecond) + 1;
  broken_ = broken_ || resets_ > kMaxResets;
  End(id);
}

void ConnectionTap::InspectData(const Http2Frame& frame, uint8_t* data,
                                size_t size) {
  // When a client pads its data, gRPC itself ends the call.
  if (frame.type != Http2Frame::kData ||
      (frame.flags & ~Http2Frame::kEndStream) != 0) {
    return;
  }
  const auto found = streams_.find(frame.stream);
  // The data belongs to a call that is over.
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  stream.last = now_;
  stream.window -= static_cast<int64_t>(size);
  while (size > 0 && !broken_) {
    switch (stream.at) {
      case Stream::At::kHead:
        InspectHead(frame.stream, stream, data);
        ++data;
        --size;
        break;
      case Stream::At::kBody: {
        const size_t part = std::min<uint64_t>(stream.left, size);
        stream.left -= part;
        data += part;
        size -= part;
        tail_ = 0;
        if (stream.left == 0) BeginMessage(stream);
        break;
      }
      case Stream::At::kRefused:
        std::memset(data, kNoMessage, size);
        tail_ = 0;
        size = 0;
        break;
    }
  }
  RecordProgress(stream);
}

void ConnectionTap::RecordProgress(Stream& stream) {
  if (stream.at == Stream::At::kBody && stream.window > 0) {
    if (stream.unfinished.has_value()) {
      unfinished_.splice(unfinished_.end(), unfinished_, *stream.unfinished);
    } else {
      stream.unfinished = unfinished_.insert(unfinished_.end(), &stream);
    }
  } else if (stream.unfinished.has_value()) {
    unfinished_.erase(*stream.unfinished);
    stream.unfinished.reset();
  }
}

void ConnectionTap::InspectHead(uint32_t id, Stream& stream, uint8_t* byte) {
  if (stream.turn != turn_) {
    stream.turn = turn_;
    stream.fresh = stream.head_bytes;
  }
  stream.head[stream.head_bytes] = *byte;
  stream.places[stream.head_bytes] = byte;
  ++stream.head_bytes;
  if (tail_stream_ != id) tail_ = 0;
  tail_stream_ = id;
  ++tail_;
  if (stream.head_bytes == kPrefixBytes) Judge(stream);
  if (stream.refuse && stream.head_bytes == kHeadBytes) Refuse(stream);
}

void ConnectionTap::Judge(Stream& stream) {
  stream.length = uint32_t{stream.head[1]} << 24 |
                  uint32_t{stream.head[2]} << 16 |
                  uint32_t{stream.head[3]} << 8 | uint32_t{stream.head[4]};
  if (stream.length > max_message_bytes_) {
    stream.refuse = true;
    stream.max = max_message_bytes_;
    return CountAsRefused(stream);
  }
  if (!FindRoom(stream)) {
    stream.refuse = true;
    stream.max = 0;
    return;
  }
  stream.came += kPrefixBytes + stream.length;
  tail_ = 0;
  stream.at = Stream::At::kBody;
  stream.left = stream.length;
  if (stream.left == 0) BeginMessage(stream);
}

bool ConnectionTap::FindRoom(Stream& stream) {
  const uint64_t needed =
      RoomFor(stream.came + kPrefixBytes + stream.length, stream.length);
  if (needed <= stream.taken) return true;
  if (room_.Acquire(caller_, needed - stream.taken)) {
    stream.taken = needed;
    return true;
  }
  CountAsRefused(stream);
  // A short message is let through: gRPC keeps no more than a window of the
  // call, and the command that the call runs, for example, may have been
  // running for long.
  return stream.length <= kFreeBytes;
}

void ConnectionTap::CountAsRefused(Stream& stream) {
  if (stream.counts_as_refused) return;
  stream.counts_as_refused = room_.AcquireRefused(caller_);
  if (!stream.counts_as_refused) broken_ = true;
}

void ConnectionTap::Refuse(Stream& stream) {
  // gRPC already has a part of the message and waits for the rest.
  if (stream.turn != turn_ || stream.fresh != 0) {
    broken_ = true;
    return;
  }
  std::array<uint8_t, kHeadBytes> head = {0, 0, 0, 0, RefusedMessage::kBytes};
  const auto message =
      RefusedMessage{.length = stream.length, .max = stream.max}.Encode();
  std::copy(message.begin(), message.end(), head.begin() + kPrefixBytes);
  for (size_t i = 0; i < kHeadBytes; ++i) *stream.places[i] = head[i];
  stream.at = Stream::At::kRefused;
  tail_ = 0;
}

void ConnectionTap::BeginMessage(Stream& stream) {
  if (const uint64_t needed = RoomFor(stream.came, 0); needed < stream.taken) {
    room_.Release(caller_, stream.taken - needed);
    stream.taken = needed;
  }
  stream.at = Stream::At::kHead;
  stream.head_bytes = 0;
  stream.refuse = false;
}

void ConnectionTap::GiveBack(Stream& stream) {
  if (stream.taken > 0) room_.Release(caller_, stream.taken);
  stream.taken = 0;
  if (stream.counts_as_refused) room_.ReleaseRefused(caller_);
  stream.counts_as_refused = false;
}

void ConnectionTap::End(uint32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  GiveBack(stream);
  if (stream.unfinished.has_value()) unfinished_.erase(*stream.unfinished);
  streams_.erase(found);
}

ssize_t ConnectionTap::Send(Sender call, int fd, const msghdr* message,
                            int flags) {
  const ssize_t sent = tls_ ? tls_->Send(message) : call(fd, message, flags);
  if (sent <= 0) return sent;
  const int error = errno;
  {
    absl::MutexLock lock(&mutex_);
    now_ = Now();
    sent_bytes_ += static_cast<uint64_t>(sent);
    ForParts(*message, static_cast<size_t>(sent),
             [this](const uint8_t* data, size_t size) {
               mutex_.AssertHeld();
               outgoing_.Read(
                   data, size,
                   [this](const Http2Frame& frame, const uint8_t*) {
                     mutex_.AssertHeld();
                     if (frame.type == Http2Frame::kData ||
                         frame.type == Http2Frame::kHeaders) {
                       pings_ = 0;
                       if ((frame.flags & Http2Frame::kEndStream) != 0) {
                         End(frame.stream);
                       }
                     }
                     if (frame.type == Http2Frame::kResetStream) {
                       Reset(frame.stream);
                     }
                     update_left_ = kWindowUpdateBytes;
                     update_ = 0;
                   },
                   [this](const Http2Frame& frame, const uint8_t* part,
                          size_t bytes) {
                     mutex_.AssertHeld();
                     if (frame.type == Http2Frame::kWindowUpdate) {
                       InspectWindowUpdate(frame.stream, part, bytes);
                     }
                   });
             });
  }
  errno = error;
  return sent;
}

}  // namespace sandglass::server
