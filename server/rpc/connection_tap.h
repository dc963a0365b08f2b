#ifndef SANDGLASS_SERVER_RPC_CONNECTION_TAP_H_
#define SANDGLASS_SERVER_RPC_CONNECTION_TAP_H_

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/rpc/http2_frames.h"
#include "server/rpc/refused_message.h"
#include "server/rpc/request_room.h"

namespace sandglass::server {

// Stands between one connection's socket and gRPC, which takes a message in
// whole before it looks at its size, and when memory runs short ends calls of
// whoever it comes upon. So here each message is looked at when its first five
// bytes are there, which say how long it is. One that is too long, or for which
// the caller's share of memory isn't enough, is replaced by a RefusedMessage,
// and what follows of it makes no message.
//
// Of what the method hasn't read yet gRPC keeps up to a window's bytes of each
// call, also when the client has said that it sends no more, and tells nobody
// when it was read. So each call has room for what has come of it, up to a
// window's bytes, until it is over, and for a longer message that is on its way
// as much as that has. The first few kilobytes of a call are free: of a call
// with one short message nothing is counted.
//
// It also knows what gRPC doesn't tell: whether calls are open on the
// connection, since when it is silent, whether a message has stopped half-way.
//
// Thread-safe: gRPC reads and writes on threads of its own.
class ConnectionTap {
 public:
  // What gRPC lets a client send of one call before the method asks for it.
  static constexpr uint32_t kWindowBytes = 65535;

  // `room` outlives it. `caller` as in Caller::name.
  ConnectionTap(RequestRoom& room, std::string caller,
                uint32_t max_message_bytes);
  ~ConnectionTap();
  ConnectionTap(const ConnectionTap&) = delete;
  ConnectionTap& operator=(const ConnectionTap&) = delete;

  // In the place of recvmsg(2) and sendmsg(2) on the socket, with the same
  // results and errno; `call` is that call. The socket doesn't block. When a
  // message can't be refused by itself any more, or the caller has too many
  // refused calls open, the connection ends.
  using Receiver = ssize_t (*)(int, msghdr*, int);
  using Sender = ssize_t (*)(int, const msghdr*, int);
  ssize_t Receive(Receiver call, int fd, msghdr* message, int flags)
      ABSL_LOCKS_EXCLUDED(mutex_);
  ssize_t Send(Sender call, int fd, const msghdr* message, int flags)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The connection is over: what it holds of the room is given back.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  struct State {
    bool speaks = false;    // HTTP/2: the client's preface was there
    size_t open_calls = 0;  // as far as both sides have said
    MonotonicTime began;
    MonotonicTime since;  // of the last byte in either direction
    // When the message that waits longest for its next byte had its last; the
    // end of time: none waits.
    MonotonicTime unfinished_since = MonotonicTime::max();
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
  };
  // Takes as long with many calls as with one.
  State state() const ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on, while `hide`, no connection's new calls are shown to gRPC,
  // whose server cancels, without a reason, what begins while it ends. A client
  // sees the connection end without its call having been looked at.
  static void HideNewCalls(bool hide = true);

 private:
  static constexpr std::string_view kPreface =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  // Before a message: whether it is compressed, and its length.
  static constexpr size_t kPrefixBytes = 5;
  static constexpr size_t kHeadBytes = kPrefixBytes + RefusedMessage::kBytes;

  // One call's requests.
  struct Stream {
    enum class At { kHead, kBody, kRefused };
    At at = At::kHead;
    // The message's first bytes: the prefix, and if it is refused those that
    // the RefusedMessage replaces.
    uint8_t head_bytes = 0;
    bool refuse = false;
    uint32_t most = 0;  // as in RefusedMessage
    uint32_t length = 0;
    std::array<uint8_t, kHeadBytes> head{};
    // Where those are that gRPC doesn't have yet: from `fresh` on, if `turn` is
    // that of this call of Receive.
    uint64_t turn = 0;
    uint8_t fresh = 0;
    std::array<uint8_t*, kHeadBytes> places{};
    uint64_t left = 0;   // of the body
    uint64_t came = 0;   // of all messages before this one
    uint64_t taken = 0;  // of the room
    // What the client may still send before the server gives it more window.
    int64_t window = kWindowBytes;
    // It counts among the caller's calls that found no room.
    bool counts_as_refused = false;
    MonotonicTime last;  // when a byte came
    // Its place among the unfinished, if it is one of them.
    std::optional<std::list<const Stream*>::iterator> unfinished;
  };

  // Receives behind what is held back, which goes to the front. Returns how
  // many bytes there are for gRPC, or what the call returned if that is no
  // number of bytes; nullopt: all of it is held back.
  std::optional<ssize_t> ReceiveSome(Receiver call, int fd, msghdr* message,
                                     int flags)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutHeld(const msghdr& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where there is room for no more than that.
  ssize_t GiveHeldAway(const msghdr& message, size_t room)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Holds back the end of what was read, of which there are `bytes`, if it is
  // needed whole.
  void Hold(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Look(uint8_t* data, size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtFrame(const Http2Frame& frame, uint8_t* type)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtData(const Http2Frame& frame, uint8_t* data, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtReset(uint32_t id, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One byte of a message's head.
  void LookAtHead(uint32_t id, Stream& stream, uint8_t* byte)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Judge(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: the message has to be refused. True where it is too short for that.
  bool FindRoom(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has what comes without room counted; ends the connection where there is too
  // much of that.
  void CountAsRefused(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refuse(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The last one is whole, and gRPC keeps no more of it than its window.
  void BeginMessage(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts the stream, of which something has just come or may come again, behind
  // all others that are unfinished, if it is half-way through a message whose
  // next byte is the client's to send: not where it waits for window.
  void NoteProgress(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The server lets more come of a call.
  void LookAtWindowUpdate(uint32_t id, const uint8_t* data, size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One side ends a call before the other has; the connection ends where that
  // is done to too many.
  void Reset(uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RequestRoom& room_;
  const std::string caller_;
  const uint32_t max_message_bytes_;
  const MonotonicTime began_ = Monotonic::now();

  mutable absl::Mutex mutex_;
  Http2Frames incoming_ ABSL_GUARDED_BY(mutex_);
  Http2Frames outgoing_ ABSL_GUARDED_BY(mutex_);
  size_t preface_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  // Those half-way through a message, the longest silent first.
  std::list<const Stream*> unfinished_ ABSL_GUARDED_BY(mutex_);
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;  // calls of Receive so far
  MonotonicTime now_ ABSL_GUARDED_BY(mutex_) = began_;
  // Where the type of the frame is whose head is being read; null: with gRPC
  // already, which happens only where its buffers are smaller than a head.
  uint8_t* type_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // The bytes at the end of what was read that are of a message's head, and of
  // which stream. They are held back until it is known what becomes of it, and
  // so is the beginning of a frame's head: it may have to be hidden.
  size_t tail_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t tail_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<uint8_t, kHeadBytes> held_ ABSL_GUARDED_BY(mutex_) = {};
  size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool hiding_ ABSL_GUARDED_BY(mutex_) = false;       // CONTINUATIONs, too
  uint32_t last_stream_ ABSL_GUARDED_BY(mutex_) = 0;  // the largest so far
  // Of the last call that began: its headers, and the frames after the first.
  uint64_t header_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int continuations_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t reset_left_ ABSL_GUARDED_BY(mutex_) = 0;  // of a RST_STREAM
  // Of the server's last WINDOW_UPDATE: bytes that are missing, and its number.
  size_t update_left_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t update_ ABSL_GUARDED_BY(mutex_) = 0;
  // Calls that were reset, less those that its time made good.
  double resets_ ABSL_GUARDED_BY(mutex_) = 0;
  MonotonicTime resets_at_ ABSL_GUARDED_BY(mutex_) = began_;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t received_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_CONNECTION_TAP_H_
