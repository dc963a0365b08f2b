#include "server/acceptor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/log.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

constexpr int kPreferredFirstNumber = 1024;
constexpr int kAcceptsPerTurn = 64;  // then closed connections get a look in
constexpr absl::Duration kBackOff = absl::Milliseconds(100);
constexpr absl::Duration kLogInterval = absl::Seconds(10);
constexpr int kSweepMs = 1000;

// The rising numbers start above what the process uses otherwise.
int FirstNumber() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t half = limit.rlim_cur / 2;
  return half < kPreferredFirstNumber ? static_cast<int>(half)
                                      : kPreferredFirstNumber;
}

absl::Status EpollError(const char* call) {
  return absl::InternalError(
      absl::StrCat("accepting connections: ", call, ": ", ErrorText(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(
    os::Fd listener, PeerTable& peers, Handover handover,
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
      new Acceptor(std::move(listener), peers, std::move(handover), options,
                   std::move(epoll), std::move(wake)));
  acceptor->thread_ = std::thread([raw = acceptor.get()] { raw->Loop(); });
  return acceptor;
}

Acceptor::Acceptor(os::Fd listener, PeerTable& peers, Handover handover,
                   const Options& options, os::Fd epoll, os::Fd wake)
    : listener_(std::move(listener)),
      peers_(peers),
      handover_(std::move(handover)),
      options_(options),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      first_number_(FirstNumber()),
      next_number_(first_number_) {}

Acceptor::~Acceptor() {
  const uint64_t one = 1;
  // An eventfd takes 8 bytes whole; it can't be full after one write.
  if (::write(wake_.get(), &one, sizeof(one)) == sizeof(one)) thread_.join();
}

void Acceptor::Listen(uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = listener_.get()}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
  listening_ = events != 0;
}

void Acceptor::Loop() {
  while (true) {
    const bool may_listen = watched_.size() < options_.max_connections &&
                            Monotonic::now() >= resume_at_;
    if (may_listen != listening_) Listen(may_listen ? uint32_t{EPOLLIN} : 0u);

    epoll_event events[64];
    const int timeout_ms =
        Monotonic::now() < resume_at_
            ? static_cast<int>(absl::ToInt64Milliseconds(kBackOff))
            : kSweepMs;
    const int count = ::epoll_wait(epoll_.get(), events, 64, timeout_ms);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_.get()) return;
      if (fd == listener_.get()) {
        AcceptSome();
      } else {
        Close(fd);
      }
    }
    peers_.Sweep();
  }
}

void Acceptor::AcceptSome() {
  for (int i = 0;
       i < kAcceptsPerTurn && watched_.size() < options_.max_connections; ++i) {
    os::Fd connection(::accept4(listener_.get(), nullptr, nullptr,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid()) {
      // A client that gave up while it waited is no error of ours.
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) BackOff(errno);
      return;
    }
    Admit(std::move(connection));
  }
}

void Acceptor::Admit(os::Fd connection) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials,
                   &size) != 0) {
    return BackOff(errno);
  }
  os::Fd numbered = Renumber(connection.get());
  if (!numbered.valid()) return BackOff(errno);
  // Without flags epoll reports the end of the connection only.
  epoll_event event{.events = 0, .data = {.fd = connection.get()}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.get(), &event) != 0) {
    return BackOff(errno);
  }
  peers_.Add(numbered.get(), Caller{absl::StrCat("uid:", credentials.uid),
                                    credentials.uid, credentials.gid});
  const int fd = connection.get();
  watched_.emplace(fd, Watched{std::move(connection), numbered.get()});
  handover_(numbered.release());
}

os::Fd Acceptor::Renumber(int fd) {
  // One pass over the numbers: the first that is free and not in its grace.
  bool wrapped = false;
  while (true) {
    os::Fd numbered(::fcntl(fd, F_DUPFD_CLOEXEC, next_number_));
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
  // Closing alone would not take it out of the set while gRPC's descriptor of
  // the same connection is open.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched, nullptr);
  watched_.erase(it);
}

void Acceptor::BackOff(int error) {
  resume_at_ = Monotonic::now() + absl::ToChronoNanoseconds(kBackOff);
  if (Monotonic::now() < quiet_until_) return;
  quiet_until_ = Monotonic::now() + absl::ToChronoNanoseconds(kLogInterval);
  Log(LogLevel::kWarning, "accept_failed", {{"error", ErrorText(error)}});
}

}  // namespace sandglass::server
