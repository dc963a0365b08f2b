#include "sandbox/egress/proxy.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/answers.h"
#include "sandbox/egress/parse/dns_message.h"
#include "sandbox/egress/upstream_tls.h"
#include "sandbox/egress/waiting.h"
#include "sandbox/os/io.h"
#include "sandbox/os/status.h"

namespace sandglass::egress {
namespace {

// How many connections or queries are handled at a time, so that one jail
// doesn't keep the others waiting.
constexpr int kMaxAtOnce = 64;

// The pause when there are no descriptors or there is no memory for a
// connection.
constexpr int kPauseMs = 100;

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

bool DoNotWait(const os::Fd& socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  return flags >= 0 && ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

// The address to which a connection was made. Only IPv4, since names have no
// other addresses.
std::optional<std::pair<policy::IpAddress, uint16_t>> OwnEnd(int socket) {
  sockaddr_in own = {};
  socklen_t size = sizeof(own);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      own.sin_family != AF_INET) {
    return std::nullopt;
  }
  const auto address = policy::IpAddress::FromBytes(
      {reinterpret_cast<const char*>(&own.sin_addr), sizeof(own.sin_addr)});
  return std::pair(*address, ntohs(own.sin_port));
}

absl::Status NotServed(uint64_t id) {
  return absl::NotFoundError(absl::StrCat("jail ", id, " isn't served"));
}

// Returns false when no thread can be started.
bool ServeInThread(std::shared_ptr<Lease> lease, const Services& services,
                   os::Fd program, Entrance entrance) {
  try {
    std::thread([lease = std::move(lease), &services,
                 program = std::move(program),
                 entrance = std::move(entrance)]() mutable {
      ServeConnection(*lease, services, std::move(program), entrance);
      // After this the process may end, and OpenSSL with it.
      ::OPENSSL_thread_stop();
      lease->EndOne();
    }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Proxy>> Proxy::Start(Resolver resolver,
                                                    ProxyOptions options) {
  absl::StatusOr<std::shared_ptr<SSL_CTX>> to_servers =
      MakeUpstreamTls(options.extra_roots_pem);
  if (!to_servers.ok()) return to_servers.status();
  os::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  os::Fd ending(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll.valid() || !ending.valid()) return os::ErrnoStatus("epoll");
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = 0}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, ending.get(), &event) != 0) {
    return os::ErrnoStatus("epoll_ctl");
  }
  std::unique_ptr<Proxy> proxy(
      new Proxy({.resolver = std::move(resolver),
                 .secrets = std::move(options.secrets),
                 .authority = std::move(options.authority),
                 .to_servers = *std::move(to_servers)},
                std::move(epoll), std::move(ending)));
  try {
    proxy->thread_ = std::thread([raw = proxy.get()] { raw->Loop(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("thread: ", error.what()));
  }
  return proxy;
}

Proxy::~Proxy() {
  const uint64_t one = 1;
  (void)os::WriteAll(ending_.get(),
                     {reinterpret_cast<const char*>(&one), sizeof(one)});
  if (thread_.joinable()) thread_.join();
  std::vector<uint64_t> open;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, jail] : jails_) open.push_back(id);
  }
  for (const uint64_t id : open) (void)Close(id);
}

absl::Status Proxy::Open(uint64_t id,
                         std::shared_ptr<const policy::NetworkPolicy> policy,
                         const LeaseLimits& limits, JailSockets sockets) {
  absl::StatusOr<std::shared_ptr<Lease>> lease =
      Lease::Create(std::move(policy), limits);
  if (!lease.ok()) return lease.status();
  absl::MutexLock lock(&mutex_);
  const auto [jail, added] =
      jails_.try_emplace(id, Jail{*std::move(lease), std::move(sockets), {}});
  if (!added) {
    return absl::AlreadyExistsError(absl::StrCat("jail ", id, " is served"));
  }
  std::vector<Watched> doors;
  const JailSockets& own = jail->second.sockets;
  if (own.proxy.valid()) doors.push_back({id, Door::kProxy, own.proxy.get()});
  if (own.dns.valid()) doors.push_back({id, Door::kDns, own.dns.get()});
  for (const os::Fd& port : own.ports) {
    doors.push_back({id, Door::kPort, port.get()});
  }
  for (const os::Fd* socket : {&own.proxy, &own.dns}) {
    if (socket->valid()) DoNotWait(*socket);
  }
  for (const os::Fd& port : own.ports) DoNotWait(port);
  for (const Watched& door : doors) {
    if (absl::Status watched = Watch(door); !watched.ok()) {
      Forget(id);
      jails_.erase(jail);
      return watched;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LeaseUsage> Proxy::Read(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  const auto jail = jails_.find(id);
  if (jail == jails_.end()) return NotServed(id);
  return jail->second.lease->usage();
}

absl::StatusOr<LeaseUsage> Proxy::Close(uint64_t id) {
  std::shared_ptr<Lease> lease;
  {
    absl::MutexLock lock(&mutex_);
    const auto jail = jails_.find(id);
    if (jail == jails_.end()) return NotServed(id);
    lease = std::move(jail->second.lease);
    Forget(id);
    jails_.erase(jail);
  }
  lease->End();
  return lease->usage();
}

absl::Status Proxy::Watch(const Watched& watched) {
  const uint64_t number = next_watch_++;
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = number}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watched.fd, &event) != 0) {
    return os::ErrnoStatus("epoll_ctl");
  }
  watched_.emplace(number, watched);
  return absl::OkStatus();
}

void Proxy::Forget(uint64_t id) {
  for (auto it = watched_.begin(); it != watched_.end();) {
    if (it->second.id != id) {
      ++it;
      continue;
    }
    // The process that made the socket may have it open, too, so closing it
    // here doesn't remove it (epoll(7)).
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, it->second.fd, nullptr);
    it = watched_.erase(it);
  }
}

void Proxy::Loop() {
  std::array<epoll_event, 64> events;
  for (;;) {
    if (std::exchange(short_, false)) {
      pollfd fd = {ending_.get(), POLLIN, 0};
      ::poll(&fd, 1, kPauseMs);
    }
    const int ready = ::epoll_wait(epoll_.get(), events.data(),
                                   static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      if (events[i].data.u64 == 0) return;
      Serve(events[i].data.u64);
    }
  }
}

void Proxy::Serve(uint64_t watch) {
  absl::MutexLock lock(&mutex_);
  const auto watched = watched_.find(watch);
  if (watched == watched_.end()) return;  // closed since
  Jail& jail = jails_.at(watched->second.id);
  if (watched->second.door == Door::kDns) {
    AnswerQueries(watched->second, jail);
  } else if (!Accept(watched->second, jail)) {
    // The socket was shut down, which epoll would report again and again.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched->second.fd, nullptr);
    watched_.erase(watched);
  }
}

bool Proxy::Accept(const Watched& watched, Jail& jail) {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    os::Fd program(
        ::accept4(watched.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!program.valid()) {
      short_ = short_ || IsShortage(errno);
      return errno != EINVAL;
    }
    const int on = 1;
    ::setsockopt(program.get(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
    ::setsockopt(program.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    Entrance entrance;
    if (watched.door == Door::kPort) {
      const auto own = OwnEnd(program.get());
      const std::string* name = own ? jail.names.NameOf(own->first) : nullptr;
      if (name == nullptr) {
        Reset(program.get());
        continue;
      }
      entrance = {*name, own->second};
    }
    if (!jail.lease->Begin()) {
      jail.lease->RecordRefusal("", "too many connections");
      Reset(program.get());
      continue;
    }
    if (!ServeInThread(jail.lease, services_, std::move(program),
                       std::move(entrance))) {
      jail.lease->EndOne();
    }
  }
  return true;
}

void Proxy::AnswerQueries(const Watched& watched, Jail& jail) {
  std::array<char, kMaxDnsQueryBytes + 1> query;
  for (int i = 0; i < kMaxAtOnce; ++i) {
    sockaddr_storage from = {};
    socklen_t from_size = sizeof(from);
    const ssize_t size =
        ::recvfrom(watched.fd, query.data(), query.size(), MSG_DONTWAIT,
                   reinterpret_cast<sockaddr*>(&from), &from_size);
    if (size < 0) return;
    const std::string answer = AnswerDns(
        *jail.lease, jail.names, {query.data(), static_cast<size_t>(size)});
    if (answer.empty()) continue;
    // The answer is dropped if the program doesn't read: nothing waits for
    // that.
    (void)::sendto(watched.fd, answer.data(), answer.size(),
                   MSG_DONTWAIT | MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&from), from_size);
  }
}

}  // namespace sandglass::egress
