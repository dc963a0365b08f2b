#ifndef SANDGLASS_SERVER_EDGE_CONNECTION_TAP_H_
#define SANDGLASS_SERVER_EDGE_CONNECTION_TAP_H_

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/edge/http2_frames.h"
#include "server/edge/refused_message.h"
#include "server/edge/request_room.h"
#include "server/tls/tls_socket.h"

namespace sandglass::server {

// Stands between one connection's socket and gRPC. gRPC receives a message
// completely before it looks at its size, and when memory runs short it ends
// whichever calls it comes upon. So here each message is checked as soon as its
// first five bytes are there, which say how long it is. A message that is too
// long, or for which the caller's share of memory isn't enough, is replaced by
// a RefusedMessage; the bytes that follow no longer form a message.
//
// For each call, gRPC keeps up to one window's bytes that the method hasn't
// read yet, even when the client has said that it sends no more, and doesn't
// report when they are read. So until a call is over it has room for what has
// come of it, up to a window's bytes, and for a longer message on its way as
// much as that message has. The first few kilobytes of a call are free: for a
// call with one short message nothing is counted.
//
// The tap also knows what gRPC doesn't report: whether calls are open on the
// connection, since when it is silent, and whether a message has stopped
// half-way.
//
// Thread-safe: gRPC reads and writes on threads of its own.
class ConnectionTap {
 public:
  // How much gRPC lets a client send in one call before the method asks for it.
  static constexpr uint32_t kWindowBytes = 65535;

  // `room` must outlive this object. `caller` is as in Identity::name. With
  // `tls` the bytes are those inside it.
  ConnectionTap(RequestRoom& room, std::string caller,
                uint32_t max_message_bytes,
                std::unique_ptr<TlsSocket> tls = nullptr);
  ~ConnectionTap();
  ConnectionTap(const ConnectionTap&) = delete;
  ConnectionTap& operator=(const ConnectionTap&) = delete;

  // Used instead of recvmsg(2) and sendmsg(2) on the socket, with the same
  // results and errno; `call` is the real function. The socket must not block.
  // The connection is ended when a message can no longer be refused on its own,
  // or when the caller has too many refused calls open.
  using Receiver = ssize_t (*)(int, msghdr*, int);
  using Sender = ssize_t (*)(int, const msghdr*, int);
  ssize_t Receive(Receiver call, int fd, msghdr* message, int flags)
      ABSL_LOCKS_EXCLUDED(mutex_);
  ssize_t Send(Sender call, int fd, const msghdr* message, int flags)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The connection is over, so its room is given back.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  struct State {
    bool speaks = false;    // HTTP/2: the client's preface was there
    size_t open_calls = 0;  // as far as both sides have told
    MonotonicTime began;
    MonotonicTime since;  // of the last byte in either direction
    // The time of the last byte of the message that has waited longest for its
    // next byte; the end of time when none waits.
    MonotonicTime unfinished_since = MonotonicTime::max();
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
  };
  // Takes no longer with many calls than with one.
  State state() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the client's certificate is good by what `tls` has; see TlsSocket.
  bool PeerIsGood(const SharedTls& tls) const {
    return tls_ == nullptr || tls_->PeerIsGood(tls);
  }

  // From now on, while `hide`, gRPC doesn't see new calls of any connection,
  // because a server that is ending cancels new calls without giving a reason.
  // To the client it then looks as if the connection ended before its call was
  // looked at.
  static void HideNewCalls(bool hide = true);

 private:
  static constexpr std::string_view kPreface =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  // The prefix of a message: whether it is compressed, and its length.
  static constexpr size_t kPrefixBytes = 5;
  static constexpr size_t kHeadBytes = kPrefixBytes + RefusedMessage::kBytes;

  // The requests of one call.
  struct Stream {
    enum class At { kHead, kBody, kRefused };
    At at = At::kHead;
    // The message's first bytes: the prefix and, if it is refused, those that
    // the RefusedMessage replaces.
    uint8_t head_bytes = 0;
    bool refuse = false;
    uint32_t max = 0;  // as in RefusedMessage
    uint32_t length = 0;
    std::array<uint8_t, kHeadBytes> head{};
    // Where the bytes are that gRPC doesn't have yet: those from index `fresh`
    // on, if `turn` is that of the present call of Receive.
    uint64_t turn = 0;
    uint8_t fresh = 0;
    std::array<uint8_t*, kHeadBytes> places{};
    uint64_t left = 0;   // of the body
    uint64_t came = 0;   // of all messages before this one
    uint64_t taken = 0;  // bytes of the room
    // How much the client may still send before the server gives it more
    // window.
    int64_t window = kWindowBytes;
    // Whether it counts among the caller's calls that found no room.
    bool counts_as_refused = false;
    MonotonicTime last;  // when the last byte came
    // Its place in the list of unfinished streams, if it is one.
    std::optional<std::list<const Stream*>::iterator> unfinished;
  };

  // Receives bytes behind those that are held back, which are put in front.
  // Returns how many bytes there are for gRPC, or what the call returned if
  // that isn't a number of bytes; nullopt when everything is held back.
  std::optional<ssize_t> ReceiveSome(Receiver call, int fd, msghdr* message,
                                     int flags)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutHeld(const msghdr& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands out held bytes when there is room for no more than those.
  ssize_t GiveHeldAway(const msghdr& message, size_t room)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of the `bytes` that were read, holds back the last ones if they are needed
  // as a whole.
  void Hold(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Inspect(uint8_t* data, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void InspectFrame(const Http2Frame& frame, uint8_t* type)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void InspectData(const Http2Frame& frame, uint8_t* data, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void InspectReset(uint32_t id, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Handles one byte of a message's head.
  void InspectHead(uint32_t id, Stream& stream, uint8_t* byte)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Judge(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns false when the message has to be refused. Returns true for one that
  // is too short to be refused.
  bool FindRoom(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a call that found no room, and ends the connection when there are
  // too many of them.
  void CountAsRefused(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refuse(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The last message is complete, and gRPC keeps no more of it than its window.
  void BeginMessage(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Something of the stream has just come or may come again. If it is half-way
  // through a message whose next byte the client has to send, puts it behind
  // all other unfinished streams; but not if the client waits for window.
  void RecordProgress(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The server allows more bytes of a call.
  void InspectWindowUpdate(uint32_t id, const uint8_t* data, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One side ends a call before the other one has. If that happens to too many
  // calls, the connection is ended.
  void Reset(uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // What the socket has, or what is inside TLS.
  ssize_t ReceiveRaw(Receiver call, int fd, msghdr* message, int flags) {
    return tls_ ? tls_->Receive(message) : call(fd, message, flags);
  }

  RequestRoom& room_;
  const std::string caller_;
  const uint32_t max_message_bytes_;
  const std::unique_ptr<TlsSocket> tls_;
  const MonotonicTime began_ = Now();

  mutable absl::Mutex mutex_;
  Http2Frames incoming_ ABSL_GUARDED_BY(mutex_);
  Http2Frames outgoing_ ABSL_GUARDED_BY(mutex_);
  size_t preface_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  // The streams that are half-way through a message, the longest silent first.
  std::list<const Stream*> unfinished_ ABSL_GUARDED_BY(mutex_);
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;  // calls of Receive so far
  MonotonicTime now_ ABSL_GUARDED_BY(mutex_) = began_;
  // Where the type of the frame is whose head is being read. Null when gRPC
  // already has it, which only happens if its buffers are smaller than a head.
  uint8_t* type_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // How many of the last bytes that were read belong to a message's head, and
  // to which stream. They are held back until it is known what happens to the
  // message. The beginning of a frame's head is held back in the same way,
  // since the frame may have to be hidden.
  size_t tail_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t tail_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<uint8_t, kHeadBytes> held_ ABSL_GUARDED_BY(mutex_) = {};
  size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool hiding_ ABSL_GUARDED_BY(mutex_) = false;       // CONTINUATIONs, too
  uint32_t last_stream_ ABSL_GUARDED_BY(mutex_) = 0;  // the largest so far
  // For the last call that began: the bytes of its headers, and the number of
  // frames after the first.
  uint64_t header_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int continuations_ ABSL_GUARDED_BY(mutex_) = 0;
  // The client's, since the last part of an answer.
  int pings_ ABSL_GUARDED_BY(mutex_) = 0;
  // Bytes missing of a RST_STREAM.
  size_t reset_left_ ABSL_GUARDED_BY(mutex_) = 0;
  // For the server's last WINDOW_UPDATE: how many bytes are missing, and its
  // value.
  size_t update_left_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t update_ ABSL_GUARDED_BY(mutex_) = 0;
  // The calls that were reset, less those that the passing of time has made
  // good.
  double resets_ ABSL_GUARDED_BY(mutex_) = 0;
  MonotonicTime resets_at_ ABSL_GUARDED_BY(mutex_) = began_;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t received_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_CONNECTION_TAP_H_
