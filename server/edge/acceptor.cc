#include "server/edge/acceptor.h"

#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/edge/http2_frames.h"

namespace sandglass::server {
namespace {

// Higher than the descriptors that the process opens otherwise, which get the
// lowest free numbers.
constexpr int kPreferredFirstNumber = 16384;
constexpr int kAcceptsPerTurn = 64;  // then closed connections get a turn
constexpr absl::Duration kBackOff = absl::Milliseconds(100);
constexpr absl::Duration kLogInterval = absl::Seconds(10);
constexpr absl::Duration kSweepInterval = absl::Seconds(1);
// So many bytes of requests leave so much free memory behind that it is worth
// giving it back.
constexpr uint64_t kFlood = uint64_t{64} << 20;

int FirstNumber() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t half = limit.rlim_cur / 2;
  return half < kPreferredFirstNumber ? static_cast<int>(half)
                                      : kPreferredFirstNumber;
}

// The numbers for all callers together; root's own are subtracted.
uint64_t NumbersForAll(int first, const Acceptor::Options& options) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<int>(
      std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(kMaxTapped)));
  const auto all =
      static_cast<uint64_t>(std::clamp(end - first, 1, options.max_numbers));
  return all - std::min(options.root_numbers, all / 4);
}

// Returns who is at the other end; nullopt, with errno set, on failure.
std::optional<Identity> PeerOf(int fd, const LocalAccounts& accounts) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return std::nullopt;
  }
  if (address.ss_family != AF_UNIX) {
    // gRPC does this for connections that it accepts itself.
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    Identity identity{.name = address.ss_family == AF_INET6 ? "tcp:[::1]"
                                                            : "tcp:127.0.0.1"};
    identity.scopes = Scopes::Usual();
    identity.proof = Proof::kLoopback;
    return identity;
  }
  ucred credentials{};
  size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return std::nullopt;
  }
  return accounts.IdentityOf(credentials.uid, credentials.gid);
}

bool IsRoot(const Identity& caller) { return caller.uid == uid_t{0}; }

void AppendFrame(std::string& bytes, uint8_t type, const std::string& payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  for (const uint32_t byte : {size >> 16, size >> 8, size, uint32_t{type}}) {
    bytes.push_back(static_cast<char>(byte));
  }
  bytes.append(5, '\0');  // no flags; about the whole connection
  bytes.append(payload);
}

// Reads what a client has sent; otherwise the kernel would throw away what we
// tell it. A client that sends all the time is not waited for.
void DropSome(int fd) {
  constexpr int kMaxReads = 16;
  char unread[4096];
  for (int i = 0; i < kMaxReads; ++i) {
    if (::recv(fd, unread, sizeof(unread), MSG_DONTWAIT) <= 0) return;
  }
}

// Says why and closes; a client that doesn't hear it sees the connection end.
void SendAway(const os::Fd& connection, TlsSocket* tls,
              const std::string& why) {
  constexpr char kEnhanceYourCalm[] = {0, 0, 0, 0, 0, 0, 0, 0x0b};
  std::string bytes;
  AppendFrame(bytes, Http2Frame::kSettings, "");
  AppendFrame(
      bytes, Http2Frame::kGoAway,
      absl::StrCat(std::string(kEnhanceYourCalm, sizeof(kEnhanceYourCalm)),
                   why));
  if (tls != nullptr) {
    iovec part = {bytes.data(), bytes.size()};
    const msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    (void)tls->Send(&message);
    return;
  }
  DropSome(connection.get());
  (void)!::send(connection.get(), bytes.data(), bytes.size(),
                MSG_NOSIGNAL | MSG_DONTWAIT);
}

absl::Status EpollError(const char* call) {
  return absl::InternalError(
      absl::StrCat("accepting connections: ", call, ": ", ErrorText(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(
    os::Fd listener, PeerTable& peers, RequestRoom& room, Handover handover,
    const Options& options) {
  os::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return EpollError("epoll_create1");
  os::Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return EpollError("eventfd");
  for (const int fd : {wake.get(), listener.get()}) {
    const uint32_t events = fd == wake.get() ? uint32_t{EPOLLIN} : 0u;
    epoll_event event{.events = events, .data = {.fd = fd}};
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return EpollError("epoll_ctl");
    }
  }
  std::unique_ptr<Acceptor> acceptor(
      new Acceptor(std::move(listener), peers, room, std::move(handover),
                   options, std::move(epoll), std::move(wake)));
  acceptor->thread_ = std::thread([raw = acceptor.get()] { raw->Loop(); });
  return acceptor;
}

Acceptor::Acceptor(os::Fd listener, PeerTable& peers, RequestRoom& room,
                   Handover handover, const Options& options, os::Fd epoll,
                   os::Fd wake)
    : listener_(std::move(listener)),
      peers_(peers),
      room_(room),
      handover_(std::move(handover)),
      options_(options),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      first_number_(FirstNumber()),
      next_number_(first_number_),
      shares_(options.max_connections),
      numbers_(WithReserveWithin(NumbersForAll(first_number_, options))),
      stranger_numbers_(
          WithReserveWithin(NumbersForAll(first_number_, options) / 2)) {}

Acceptor::~Acceptor() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  // It can't be full.
  if (::eventfd_write(wake_.get(), 1) == 0) thread_.join();
}

void Acceptor::Offer(os::Fd connection, Identity caller,
                     std::unique_ptr<TlsSocket> tls) {
  {
    absl::MutexLock lock(&mutex_);
    offered_.push_back(
        {std::move(connection), std::move(caller), std::move(tls)});
  }
  ::eventfd_write(wake_.get(), 1);
}

void Acceptor::TakeOffers() {
  std::vector<Offered> offered;
  {
    absl::MutexLock lock(&mutex_);
    offered.swap(offered_);
  }
  for (Offered& each : offered) {
    Admit(std::move(each.connection), each.caller, std::move(each.tls));
  }
}

void Acceptor::Listen(uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = listener_.get()}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
  listening_ = events != 0;
}

void Acceptor::Loop() {
  while (true) {
    const bool may_listen = Now() >= resume_at_;
    if (may_listen != listening_) Listen(may_listen ? uint32_t{EPOLLIN} : 0u);

    epoll_event events[64];
    const int timeout_ms = static_cast<int>(
        absl::ToInt64Milliseconds(may_listen ? kSweepInterval : kBackOff));
    const int count = ::epoll_wait(epoll_.get(), events, 64, timeout_ms);
    bool accept = false;
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_.get()) {
        eventfd_t ignored;
        ::eventfd_read(wake_.get(), &ignored);
        absl::MutexLock lock(&mutex_);
        if (ending_) return;
        accept = true;
      } else if (fd == listener_.get()) {
        accept = true;
      } else {
        Close(fd);
      }
    }
    // ORDER: this comes last, since a new connection may get the number of one
    // that has just ended, to which events of this turn refer.
    if (accept) {
      TakeOffers();
      AcceptSome();
    }
    SweepNumbers();
    if (Now() >= sweep_at_) Sweep();
  }
}

void Acceptor::SweepNumbers() {
  for (const std::string& caller : peers_.Sweep()) {
    numbers_.Release(caller);
    if (absl::StartsWith(caller, kStrangerPrefix)) {
      stranger_numbers_.Release(caller);
    }
  }
}

void Acceptor::Sweep() {
  const MonotonicTime now = Now();
  sweep_at_ = After(now, kSweepInterval);
  const SharedTls tls = options_.tls == nullptr ? nullptr : options_.tls->Get();
  std::vector<int> over;
  for (const auto& [fd, watched] : watched_) {
    const ConnectionTap::State state = watched.tap->state();
    if (watched.stranger) {
      if (peers_.Proved(watched.number)) {
        ForgetStranger(watched.caller, watched.order);
      } else if (now - state.began >
                 absl::ToChronoNanoseconds(options_.proof)) {
        over.push_back(fd);
        continue;
      }
    }
    if (!watched.tap->PeerIsGood(tls) ||
        (!state.speaks &&
         now - state.began > absl::ToChronoNanoseconds(options_.first_words)) ||
        (state.unfinished_since < now &&
         now - state.unfinished_since >
             absl::ToChronoNanoseconds(options_.message_pause))) {
      over.push_back(fd);
    }
  }
  for (const int fd : over) End(fd);
  if (ended_ > 0 && now >= quiet_until_) {
    quiet_until_ = After(now, kLogInterval);
    Log(LogLevel::kWarning, "connections_ended",
        {{"connections", std::exchange(ended_, 0)}});
  }
  // Otherwise the C library would keep the memory that large requests took.
  if (const uint64_t total = room_.total();
      total - flooded_ > kFlood && room_.used() < kFlood) {
    flooded_ = total;
    ::malloc_trim(0);
  }
}

void Acceptor::End(int watched) {
  ++ended_;
  ::shutdown(watched, SHUT_RDWR);
  Close(watched);
}

bool Acceptor::EndSilent(const std::string& caller) {
  std::optional<int> silent;
  MonotonicTime since = MonotonicTime::max();
  for (const auto& [fd, watched] : watched_) {
    if (watched.caller != caller) continue;
    const ConnectionTap::State state = watched.tap->state();
    if (state.open_calls == 0 && state.since < since) {
      since = state.since;
      silent = fd;
    }
  }
  if (!silent.has_value()) return false;
  End(*silent);
  return true;
}

bool Acceptor::EndStranger(const std::string& network) {
  // Of those that have as many, the one whose oldest came first.
  const auto largest =
      std::ranges::max_element(strangers_, {}, [](const auto& each) {
        return std::pair(each.second.size(), -each.second.begin()->first);
      });
  const auto own = strangers_.find(network);
  if (largest == strangers_.end() ||
      (own != strangers_.end() &&
       own->second.size() >= largest->second.size())) {
    return false;
  }
  const int oldest = largest->second.begin()->second;
  const Watched& watched = watched_.at(oldest);
  if (peers_.Proved(watched.number)) {
    ForgetStranger(watched.caller, watched.order);
  } else {
    End(oldest);
  }
  return true;
}

void Acceptor::ForgetStranger(const std::string& network, uint64_t order) {
  const auto of_network = strangers_.find(network);
  if (of_network == strangers_.end()) return;
  stranger_count_ -= static_cast<uint32_t>(of_network->second.erase(order));
  if (of_network->second.empty()) strangers_.erase(of_network);
}

void Acceptor::AcceptSome() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    os::Fd connection(::accept4(listener_.get(), nullptr, nullptr,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid()) {
      // A client that gave up while it waited is not an error of ours.
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) BackOff(errno);
      return;
    }
    const std::optional<Identity> caller =
        PeerOf(connection.get(), options_.accounts);
    if (!caller.has_value()) return BackOff(errno);
    Admit(std::move(connection), *caller, nullptr);
  }
}

void Acceptor::Admit(os::Fd connection, const Identity& caller,
                     std::unique_ptr<TlsSocket> tls) {
  const std::string& name = caller.name;
  const bool stranger = caller.proof == Proof::kNone;
  if (stranger && (stranger_numbers_.RoomFor(name) != Shares::Room::kYes ||
                   (stranger_count_ >= options_.max_connections / 2 &&
                    !EndStranger(name)))) {
    ++ended_;
    return SendAway(connection, tls.get(),
                    "there are too many connections on which nobody has proved "
                    "yet who they are; try again in a few seconds");
  }
  // Numbers can't be taken back from anybody to make room. Root has some that
  // others can't use up, as it has connections.
  const bool of_root =
      IsRoot(caller) && numbers_.held_by(name) < options_.root_numbers;
  if (!of_root && numbers_.RoomFor(name) != Shares::Room::kYes) {
    ++ended_;
    return SendAway(
        connection, tls.get(),
        absl::StrCat(name, " had ", numbers_.held_by(name), " connections in ",
                     absl::FormatDuration(options_.number_grace),
                     ", its share of them; keep one for all calls, or wait"));
  }
  const std::optional<std::string> in_the_way =
      shares_.InTheWay(name, IsRoot(caller));
  if (in_the_way.has_value() && !EndSilent(*in_the_way)) {
    ++ended_;
    return SendAway(connection, tls.get(),
                    absl::StrCat(name, " has its share of the ", shares_.max(),
                                 " connections already, each "
                                 "with a call; close some"));
  }
  os::Fd numbered = Renumber(connection.get());
  if (!numbered.valid()) return BackOff(errno);
  // Without flags, epoll reports only the end of the connection.
  epoll_event event{.events = 0, .data = {.fd = connection.get()}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.get(), &event) != 0) {
    return BackOff(errno);
  }
  if (tls) tls->Rename(numbered.get());
  auto tap = std::make_unique<ConnectionTap>(
      room_, name, options_.max_message_bytes, std::move(tls));
  const int fd = connection.get();
  const uint64_t order = ++accepted_;
  watched_.emplace(fd, Watched{std::move(connection), numbered.get(), name,
                               tap.get(), stranger, order});
  shares_.Add(name);
  ++open_;
  numbers_.Acquire(name);
  if (stranger) {
    strangers_[name].emplace(order, fd);
    ++stranger_count_;
    stranger_numbers_.Acquire(name);
  }
  peers_.Add(numbered.get(), caller, std::move(tap));
  handover_(numbered.release());
}

os::Fd Acceptor::Renumber(int fd) {
  // Goes through the numbers once: takes the first one that is free and not in
  // its grace.
  bool wrapped = false;
  while (true) {
    os::Fd numbered(::fcntl(fd, F_DUPFD_CLOEXEC, next_number_));
    if (numbered.valid() && numbered.get() >= kMaxTapped) {
      numbered.reset();
      errno = EMFILE;
    }
    if (numbered.valid()) {
      next_number_ = numbered.get() + 1;
      if (!peers_.Contains(numbered.get())) return numbered;
    } else if ((errno == EINVAL || errno == EMFILE) && !wrapped) {
      wrapped = true;
      next_number_ = first_number_;
    } else {
      return os::Fd();
    }
  }
}

void Acceptor::Close(int watched) {
  const auto it = watched_.find(watched);
  if (it == watched_.end()) return;
  peers_.MarkClosed(it->second.number, options_.number_grace);
  shares_.Remove(it->second.caller);
  if (it->second.stranger) ForgetStranger(it->second.caller, it->second.order);
  --open_;
  // Closing alone would not remove it from the set while gRPC's descriptor of
  // the same connection is open.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched, nullptr);
  watched_.erase(it);
}

void Acceptor::BackOff(int error) {
  resume_at_ = After(Now(), kBackOff);
  if (Now() < quiet_until_) return;
  quiet_until_ = After(Now(), kLogInterval);
  Log(LogLevel::kWarning, "accept_failed", {{"error", ErrorText(error)}});
}

}  // namespace sandglass::server
