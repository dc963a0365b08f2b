#include "gateway/edge/http_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sandglass::gateway {
namespace {

using Descriptor = net::posix::stream_descriptor;

constexpr size_t kReadBytes = 16 << 10;
// How long, and how much, the rest of a refused request is read and dropped.
constexpr absl::Duration kLinger = absl::Seconds(2);
constexpr size_t kLingerBytes = 64 << 20;

}  // namespace

HttpSocket::HttpSocket(net::io_context& loop, os::Fd fd,
                       std::unique_ptr<server::TlsSocket> tls,
                       size_t max_unread)
    : fd_(loop, fd.release()), tls_(std::move(tls)), unread_(max_unread) {}

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
  net::steady_timer timer(fd_.get_executor(), until);
  timer.async_wait([self = shared_from_this(), waits](error_code error) {
    if (error || !*waits || self->closed_) return;
    self->slow_ = true;
    self->fd_.cancel(error);
  });
  error_code error;
  co_await fd_.async_wait(what, Into(error));
  *waits = false;
  co_return !error && !closed_;
}

net::awaitable<bool> HttpSocket::Receive(server::MonotonicTime until) {
  for (;;) {
    if (deaf_) co_return false;
    const Got got = TryReceive();
    if (got != Got::kNothing) co_return got == Got::kBytes;
    if (!co_await Ready(Descriptor::wait_read, until)) co_return false;
  }
}

net::awaitable<bool> HttpSocket::Send(std::string_view bytes,
                                      absl::Duration patience) {
  while (!bytes.empty() && !closed_) {
    iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t sent = tls_->Send(&message);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
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
  fd_.async_wait(Descriptor::wait_read,
                 [self = shared_from_this(), watch = watch_](error_code error) {
                   if (watch != self->watch_ || self->gone_ == nullptr) return;
                   Got got = error ? Got::kEnd : Got::kBytes;
                   while (got == Got::kBytes) {
                     // Of a client that has sent so much ahead, writing will
                     // tell.
                     if (self->unread_.size() == self->unread_.max_size())
                       return;
                     got = self->TryReceive();
                   }
                   if (got == Got::kNothing) return self->WatchNext();
                   std::exchange(self->gone_, nullptr)();
                 });
}

void HttpSocket::Unwatch() {
  if (gone_ == nullptr) return;
  gone_ = nullptr;
  ++watch_;
  error_code ignored;
  fd_.cancel(ignored);
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
  if (gone_ != nullptr) std::exchange(gone_, nullptr)();
}

}  // namespace sandglass::gateway
