#include "tests/e2e/remote/raw_caller.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "absl/time/clock.h"
#include "tests/support/slowdown.h"

namespace sandglass::testing {

using server::Http2Frame;

os::Fd ConnectFrom(const std::string& from, int port) {
  os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &own.sin_addr);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own),
             sizeof(own)) != 0 ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
    socket.reset();
  }
  return socket;
}

RawCaller::RawCaller(int port, const TlsContext& tls, const std::string& from)
    : socket_(ConnectFrom(from, port)) {
  // OpenSSL writes to connections that the other side has ended.
  ::signal(SIGPIPE, SIG_IGN);
  if (!socket_.valid()) return;
  tls_.emplace(socket_.get(), tls);
  connected_ = tls_->Connect("localhost");
  ::SSL_set_mode(tls_->get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
}

bool RawCaller::WaitUntilReadable(absl::Time end) const {
  const absl::Duration left = end - absl::Now();
  if (left <= absl::ZeroDuration()) return false;
  pollfd fd = {socket_.get(), POLLIN, 0};
  return ::poll(&fd, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) >
         0;
}

bool RawCaller::Read() {
  std::array<char, 16384> bytes;
  while (!over_) {
    ::ERR_clear_error();
    const int got =
        ::SSL_read(tls_->get(), bytes.data(), static_cast<int>(bytes.size()));
    if (got <= 0) {
      over_ = ::SSL_get_error(tls_->get(), got) != SSL_ERROR_WANT_READ;
      break;
    }
    frames_.Read(
        bytes.data(), static_cast<size_t>(got),
        [&](const Http2Frame& frame, char*) {
          const bool last = (frame.type == Http2Frame::kHeaders ||
                             frame.type == Http2Frame::kData) &&
                            (frame.flags & Http2Frame::kEndStream) != 0;
          if (last || frame.type == Http2Frame::kResetStream) ++ended_calls_;
        },
        [&](const Http2Frame& frame, const char* part, size_t size) {
          if (frame.type == Http2Frame::kHeaders && headers_.size() < 65536) {
            headers_.append(part, size);
          }
        });
  }
  return !over_;
}

RawCaller::Sent RawCaller::Send(std::string_view bytes, Meanwhile meanwhile) {
  const absl::Duration patience = absl::Seconds(2) * Slowdown();
  absl::Time end = absl::Now() + patience;
  while (!bytes.empty()) {
    if (meanwhile == Meanwhile::kReads && !Read()) return Sent::kEnded;
    size_t sent = 0;
    ::ERR_clear_error();
    const int result =
        ::SSL_write_ex(tls_->get(), bytes.data(), bytes.size(), &sent);
    if (result == 1) {
      bytes.remove_prefix(sent);
      end = absl::Now() + patience;
    } else if (::SSL_get_error(tls_->get(), result) != SSL_ERROR_WANT_WRITE) {
      over_ = true;
      return Sent::kEnded;
    } else if (absl::Now() >= end) {
      return Sent::kStuck;
    } else {
      pollfd fd = {socket_.get(), POLLOUT, 0};
      ::poll(&fd, 1, 10);
    }
  }
  return Sent::kAll;
}

bool RawCaller::Ends(absl::Duration time) {
  const absl::Time end = absl::Now() + time * Slowdown();
  while (Read()) {
    if (!WaitUntilReadable(end)) return false;
  }
  return true;
}

bool RawCaller::CallsEnd(size_t calls, absl::Duration time) {
  const absl::Time end = absl::Now() + time * Slowdown();
  while (Read() && ended_calls_ < calls) {
    if (!WaitUntilReadable(end)) break;
  }
  return ended_calls_ >= calls;
}

std::string RawCaller::FirstStatus() const {
  // gRPC writes it out in full the first time.
  constexpr std::string_view kName = "grpc-status";
  const size_t at = headers_.find(kName);
  if (at == std::string::npos) return "";
  const size_t size_at = at + kName.size();
  if (size_at >= headers_.size()) return "";
  return headers_.substr(size_at + 1, static_cast<uint8_t>(headers_[size_at]));
}

}  // namespace sandglass::testing
