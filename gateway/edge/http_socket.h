#ifndef SANDGLASS_GATEWAY_EDGE_HTTP_SOCKET_H_
#define SANDGLASS_GATEWAY_EDGE_HTTP_SOCKET_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "gateway/edge/asio.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"
#include "server/tls/tls_context.h"
#include "server/tls/tls_socket.h"

namespace sandglass::gateway {

// A connection with TLS for coroutines. All of it is used on the thread of its
// io_context, and by one reader and one writer at a time.
class HttpSocket : public std::enable_shared_from_this<HttpSocket> {
 public:
  // `tls` goes on on the descriptor. `max_unread` bounds unread(). Null: there
  // are no descriptors left.
  static std::shared_ptr<HttpSocket> Make(
      net::io_context& loop, os::Fd fd, std::unique_ptr<server::TlsSocket> tls,
      size_t max_unread);

  // What was received and not used yet.
  std::string_view unread() const;
  void Use(size_t bytes) { unread_.consume(bytes); }

  // Waits until there is more to be unread. False: the client is gone, too
  // slow, or has sent more than may be unread.
  net::awaitable<bool> Receive(server::MonotonicTime until);
  // Whether somebody was too slow.
  bool slow() const { return slow_; }
  // False: the client is gone, or takes less than something for so long.
  net::awaitable<bool> Send(std::string_view bytes, absl::Duration patience);

  // Ends a Receive that waits, and every later one.
  void StopReceiving();

  // Calls `gone` when the client goes away, until Unwatch. What it sends
  // meanwhile becomes unread, as much as may be. Not beside Receive.
  void Watch(std::function<void()> gone);
  void Unwatch();

  // Tells the client that no more comes, and waits until it ends the connection
  // too, for a while: with unread bytes the kernel would throw away what was
  // sent last.
  net::awaitable<void> Linger();
  // Ends what is under way. It may be called at any time.
  void Close();
  bool closed() const { return closed_; }

  // Whether the certificate by which the client is known is good still.
  bool PeerIsGood(const server::SharedTls& tls) {
    return tls_->PeerIsGood(tls);
  }

 private:
  enum class Got { kBytes, kNothing, kEnd };
  // Without waiting.
  Got TryReceive();
  HttpSocket(net::io_context& loop, std::unique_ptr<server::TlsSocket> tls,
             size_t max_unread)
      : fd_(loop),
        write_fd_(loop),
        watch_timer_(loop),
        tls_(std::move(tls)),
        unread_(max_unread) {}
  // Lets others do something after so many bytes without a wait.
  net::awaitable<void> TakeTurns(size_t bytes);
  // Waits until the descriptor is ready for it.
  net::awaitable<bool> Ready(net::posix::stream_descriptor::wait_type what,
                             server::MonotonicTime until);
  void WatchNext();
  void WatchEnd();

  net::posix::stream_descriptor fd_;
  // The same connection, so that waits to send are ended apart from those to
  // receive.
  net::posix::stream_descriptor write_fd_;
  net::steady_timer watch_timer_;
  const std::unique_ptr<server::TlsSocket> tls_;
  boost::beast::flat_buffer unread_;
  bool closed_ = false;
  bool slow_ = false;
  size_t turn_bytes_ = 0;  // since others had their turn
  bool deaf_ = false;      // nothing is received any more
  std::function<void()> gone_;
  // Counts watches, so that one that has ended does nothing.
  uint64_t watch_ = 0;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_HTTP_SOCKET_H_
