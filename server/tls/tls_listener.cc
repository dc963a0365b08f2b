#include "server/tls/tls_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/identity/refusal_limit.h"

namespace sandglass::server {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr absl::Duration kBackOff = absl::Milliseconds(100);
constexpr absl::Duration kLogInterval = absl::Seconds(10);

std::string PeerAddress(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "";
  }
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof(text));
    } else {
      ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
    }
  }
  return text;
}

// Whether a client speaks HTTP without TLS. It is told so in a way that
// browsers, curl and gRPC's clients show.
bool AnswerPlainText(int fd) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 400 Bad Request\r\n"
      "Content-Type: text/plain\r\n"
      "Content-Length: 40\r\n"
      "Connection: close\r\n\r\n"
      "This address is served with TLS alone.\r\n";
  char bytes[4096];
  // Of HTTP/1 and HTTP/2 the first byte is a letter; of TLS it is 22.
  if (::recv(fd, bytes, 1, MSG_PEEK | MSG_DONTWAIT) != 1 ||
      !absl::ascii_isupper(static_cast<unsigned char>(bytes[0]))) {
    return false;
  }
  // Unread bytes would make the kernel throw the answer away.
  (void)!::recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
  (void)!::send(fd, kAnswer.data(), kAnswer.size(),
                MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsListener>> TlsListener::Start(
    std::vector<os::Fd> sockets, const TlsContext& tls,
    const IdentityConfig& identity, Handover handover, const Options& options) {
  std::unique_ptr<TlsListener> listener(new TlsListener(
      std::move(sockets), tls, identity, std::move(handover), options));
  if (absl::Status started = listener->loop_.Start(); !started.ok()) {
    return started;
  }
  listener->loop_.Post([raw = listener.get()] {
    for (const os::Fd& socket : raw->sockets_) raw->Listen(socket);
  });
  return listener;
}

void TlsListener::Listen(const os::Fd& socket) {
  const auto watch = std::make_shared<uint64_t>(0);
  *watch = loop_.Watch(socket.get(), EPOLLIN, [this, &socket, watch](uint32_t) {
    AcceptSome(socket, *watch);
  });
}

void TlsListener::AcceptSome(const os::Fd& socket, uint64_t watch) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    os::Fd connection(::accept4(socket.get(), nullptr, nullptr,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.valid()) {
      Begin(std::move(connection));
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // No descriptors are left, say: that won't go away by itself.
    loop_.Forget(watch);
    loop_.CallAt(After(Now(), kBackOff), [this, &socket] { Listen(socket); });
    return;
  }
}

void TlsListener::Begin(os::Fd connection) {
  const int fd = connection.get();
  const std::string address = PeerAddress(fd);
  const std::string network = NetworkOf(address);
  const auto of_network = networks_.find(network);
  const uint32_t has = of_network == networks_.end() ? 0 : of_network->second;
  if (has >= options_.max_of_network ||
      (handshakes_.size() >= options_.max_handshakes && !MakeRoom(has))) {
    ++turned_away_;
    return;
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  std::unique_ptr<TlsSocket> socket = TlsSocket::Make(tls_.Get(), fd);
  if (socket == nullptr) {
    ++failed_;
    return;
  }
  ++networks_[network];
  Handshake& handshake = handshakes_
                             .emplace(fd, Handshake{.fd = std::move(connection),
                                                    .socket = std::move(socket),
                                                    .address = address,
                                                    .network = network})
                             .first->second;
  handshake.order = next_order_++;
  handshake.timer = loop_.CallAt(After(Now(), options_.handshake), [this, fd] {
    Drop(fd, absl::StrCat("no handshake within ",
                          absl::FormatDuration(options_.handshake)));
  });
  Watch(handshake, EPOLLIN);
}

bool TlsListener::MakeRoom(uint32_t has) {
  const auto largest = std::ranges::max_element(
      networks_, {}, [](const auto& each) { return each.second; });
  if (largest == networks_.end() || largest->second <= has) return false;
  int oldest = -1;
  uint64_t order = UINT64_MAX;
  for (const auto& [fd, handshake] : handshakes_) {
    if (handshake.network == largest->first && handshake.order < order) {
      order = handshake.order;
      oldest = fd;
    }
  }
  Drop(oldest, "others needed its room");
  return true;
}

void TlsListener::Watch(Handshake& handshake, uint32_t events) {
  if (handshake.watch != 0) loop_.Forget(handshake.watch);
  const int fd = handshake.fd.get();
  handshake.watch = loop_.Watch(fd, events, [this, fd](uint32_t) { Step(fd); });
}

void TlsListener::Step(int fd) {
  const auto found = handshakes_.find(fd);
  if (found == handshakes_.end()) return;
  if (AnswerPlainText(fd)) return Drop(fd, "the client doesn't speak TLS");
  switch (found->second.socket->Handshake()) {
    case TlsSocket::Progress::kDone:
      return Finish(fd);
    case TlsSocket::Progress::kReads:
      return Watch(found->second, EPOLLIN);
    case TlsSocket::Progress::kWrites:
      return Watch(found->second, EPOLLOUT);
    case TlsSocket::Progress::kFailed:
      return Drop(fd, found->second.socket->error());
  }
}

void TlsListener::Finish(int fd) {
  const Handover& handover =
      handshakes_.at(fd).socket->SpeaksHttp2() ? handover_ : options_.http1;
  if (handover == nullptr) {
    return Drop(fd, "the client doesn't offer h2 (ALPN)");
  }
  Handshake handshake = Remove(fd);
  Identity identity = IdentityOf(handshake);
  handover(std::move(handshake.fd), std::move(identity),
           std::move(handshake.socket));
}

Identity TlsListener::IdentityOf(const Handshake& handshake) const {
  const std::optional<PeerCertificate> peer = handshake.socket->Peer();
  std::optional<Identity> known;
  if (peer.has_value()) known = IdentityOfCertificate(identity_, peer->name);
  Identity identity = known.value_or(
      Identity{.name = absl::StrCat(kStrangerPrefix, handshake.network)});
  if (known.has_value()) identity.expires = peer->ends;
  identity.address = handshake.address;
  return identity;
}

TlsListener::Handshake TlsListener::Remove(int fd) {
  const auto found = handshakes_.find(fd);
  Handshake handshake = std::move(found->second);
  handshakes_.erase(found);
  loop_.Forget(handshake.watch);
  loop_.Cancel(handshake.timer);
  const auto network = networks_.find(handshake.network);
  if (--network->second == 0) networks_.erase(network);
  return handshake;
}

void TlsListener::Drop(int fd, const std::string& why) {
  const Handshake handshake = Remove(fd);
  ++failed_;
  const MonotonicTime now = Now();
  if (now < quiet_until_) return;
  quiet_until_ = After(now, kLogInterval);
  Log(LogLevel::kWarning, "handshake_failed",
      {{"address", handshake.address}, {"because", why}});
}

}  // namespace sandglass::server
