#include "gateway/edge/http_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace sandglass::gateway {
namespace {

using Descriptor = net::posix::stream_descriptor;

constexpr size_t kReadBytes = 16 << 10;
// So much of one connection, and it is another one's turn.
constexpr size_t kTurnBytes = 256 << 10;
constexpr std::chrono::seconds kLookEvery(1);
constexpr int kKernelBytes = 256 << 10;
// How long, and how much, the rest of a refused request is read and dropped.
constexpr absl::Duration kLinger = absl::Seconds(2);
constexpr size_t kLingerBytes = 64 << 20;

}  // namespace

std::shared_ptr<HttpSocket> HttpSocket::Make(
    net::io_context& loop, os::Fd fd, std::unique_ptr<server::TlsSocket> tls,
    size_t max_unread) {
  // What a client doesn't read, or sends before it is wanted, takes the
  // kernel's memory, which the kernel would let grow to several megabytes.
  for (const int option : {SO_SNDBUF, SO_RCVBUF}) {
    (void)::setsockopt(fd.get(), SOL_SOCKET, option, &kKernelBytes,
                       sizeof(kKernelBytes));
  }
  os::Fd other(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!other.valid()) return nullptr;
  std::shared_ptr<HttpSocket> socket(
      new HttpSocket(loop, std::move(tls), max_unread));
  error_code error;
  for (auto [descriptor, number] :
       {std::pair(&socket->fd_, &fd), std::pair(&socket->write_fd_, &other)}) {
    descriptor->assign(number->get(), error);
    if (error) return nullptr;
    (void)number->release();
  }
  return socket;
}

std::string_view HttpSocket::unread() const {
  return {static_cast<const char*>(unread_.cdata().data()), unread_.size()};
}

HttpSocket::Got HttpSocket::TryReceive() {
  const size_t room = std::min(kReadBytes, unread_.max_size() - unread_.size());
  if (closed_ || room == 0) return Got::kEnd;
  const auto space = unread_.prepare(room);
  iovec part = {space.data(), space.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t got = tls_->Receive(&message);
  if (got > 0) {
    unread_.commit(static_cast<size_t>(got));
    return Got::kBytes;
  }
  if (got == 0 || errno != EAGAIN) return Got::kEnd;
  // Who waits for nothing takes no memory.
  if (unread_.size() == 0) unread_.shrink_to_fit();
  return Got::kNothing;
}

net::awaitable<bool> HttpSocket::Ready(Descriptor::wait_type what,
                                       server::MonotonicTime until) {
  // The timer's function may be in line when the wait is over.
  const auto waits = std::make_shared<bool>(true);
  Descriptor& fd = what == Descriptor::wait_write ? write_fd_ : fd_;
  net::steady_timer timer(fd_.get_executor(), until);
  timer.async_wait([self = shared_from_this(), waits, &fd](error_code error) {
    if (error || !*waits || self->closed_) return;
    self->slow_ = true;
    fd.cancel(error);
  });
  error_code error;
  turn_bytes_ = 0;
  co_await fd.async_wait(what, Into(error));
  *waits = false;
  co_return !error && !closed_;
}

net::awaitable<void> HttpSocket::TakeTurns(size_t bytes) {
  turn_bytes_ += bytes;
  if (turn_bytes_ < kTurnBytes) co_return;
  turn_bytes_ = 0;
  co_await net::post(fd_.get_executor(), net::use_awaitable);
}

net::awaitable<bool> HttpSocket::Receive(server::MonotonicTime until) {
  slow_ = false;
  for (;;) {
    if (deaf_) co_return false;
    // Also where there is always more.
    if (server::Now() >= until) {
      slow_ = true;
      co_return false;
    }
    const size_t before = unread_.size();
    const Got got = TryReceive();
    if (got == Got::kBytes) co_await TakeTurns(unread_.size() - before);
    if (got != Got::kNothing) co_return got == Got::kBytes;
    if (!co_await Ready(Descriptor::wait_read, until)) co_return false;
  }
}

net::awaitable<bool> HttpSocket::Send(std::string_view bytes,
                                      absl::Duration patience) {
  while (!bytes.empty() && !closed_) {
    iovec part = {const_cast<char*>(bytes.data()),
                  std::min(bytes.size(), kTurnBytes)};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t sent = tls_->Send(&message);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      co_await TakeTurns(static_cast<size_t>(sent));
    } else if (sent == 0 || errno != EAGAIN ||
               !co_await Ready(Descriptor::wait_write,
                               server::After(server::Now(), patience))) {
      co_return false;
    }
  }
  co_return !closed_;
}

void HttpSocket::StopReceiving() {
  deaf_ = true;
  error_code ignored;
  if (!closed_) fd_.cancel(ignored);
}

void HttpSocket::Watch(std::function<void()> gone) {
  gone_ = std::move(gone);
  ++watch_;
  WatchNext();
}

void HttpSocket::WatchNext() {
  if (unread_.size() == unread_.max_size()) return WatchEnd();
  fd_.async_wait(Descriptor::wait_read,
                 [self = shared_from_this(), watch = watch_](error_code error) {
                   if (watch != self->watch_ || self->gone_ == nullptr) return;
                   Got got = error ? Got::kEnd : Got::kBytes;
                   while (got == Got::kBytes &&
                          self->unread_.size() < self->unread_.max_size()) {
                     got = self->TryReceive();
                   }
                   if (got != Got::kEnd) return self->WatchNext();
                   std::exchange(self->gone_, nullptr)();
                 });
}

// Of a client that has sent as much ahead as may be. Its end stands behind what
// isn't read, where only poll(2) sees it.
void HttpSocket::WatchEnd() {
  watch_timer_.expires_after(kLookEvery);
  watch_timer_.async_wait(
      [self = shared_from_this(), watch = watch_](error_code) {
        if (watch != self->watch_ || self->gone_ == nullptr) return;
        pollfd end = {self->fd_.native_handle(), POLLRDHUP, 0};
        if (::poll(&end, 1, 0) == 0) return self->WatchNext();
        std::exchange(self->gone_, nullptr)();
      });
}

void HttpSocket::Unwatch() {
  if (gone_ == nullptr) return;
  gone_ = nullptr;
  ++watch_;
  error_code ignored;
  fd_.cancel(ignored);
  watch_timer_.cancel();
}

net::awaitable<void> HttpSocket::Linger() {
  if (closed_) co_return;
  deaf_ = false;
  tls_->SendEnd();
  ::shutdown(fd_.native_handle(), SHUT_WR);
  const server::MonotonicTime until = server::After(server::Now(), kLinger);
  for (size_t got = 0; got < kLingerBytes; got += unread_.size()) {
    unread_.clear();
    if (!co_await Receive(until)) break;
  }
}

void HttpSocket::Close() {
  if (std::exchange(closed_, true)) return;
  tls_->Close();
  error_code ignored;
  fd_.close(ignored);
  write_fd_.close(ignored);
  if (gone_ != nullptr) std::exchange(gone_, nullptr)();
}

}  // namespace sandglass::gateway
