#include "sandbox/egress/resolver.h"

#include <ares.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/status.h"

namespace sandglass::egress {
namespace {

// The time for one server's answer, and how often each is asked. The caller
// decides how long a lookup may take in all.
constexpr int kTryMs = 2000;
constexpr int kTries = 3;

struct ChannelEnd {
  void operator()(ares_channel channel) const { ::ares_destroy(channel); }
};
using Channel =
    std::unique_ptr<std::remove_pointer_t<ares_channel>, ChannelEnd>;

// What a channel waits for, as poll(2) takes it, by its sockets.
using Sockets = std::map<ares_socket_t, int16_t>;

void NoteSocket(void* sockets, ares_socket_t fd, int reads, int writes) {
  auto& all = *static_cast<Sockets*>(sockets);
  const int events = (reads != 0 ? POLLIN : 0) | (writes != 0 ? POLLOUT : 0);
  if (events == 0) {
    all.erase(fd);
  } else {
    all[fd] = static_cast<int16_t>(events);
  }
}

// `sockets` must outlive the channel.
absl::StatusOr<Channel> OpenChannel(const std::string& servers,
                                    Sockets& sockets) {
  ares_options options = {};
  options.sock_state_cb = NoteSocket;
  options.sock_state_cb_data = &sockets;
  options.flags = ARES_FLAG_NOSEARCH;
  options.timeout = kTryMs;
  options.tries = kTries;
  ares_channel opened = nullptr;
  int code = ::ares_init_options(&opened, &options,
                                 ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
                                     ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
  Channel channel(code == ARES_SUCCESS ? opened : nullptr);
  if (code == ARES_SUCCESS && !servers.empty()) {
    code = ::ares_set_servers_ports_csv(channel.get(), servers.c_str());
  }
  if (code != ARES_SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("name servers: ", ::ares_strerror(code)));
  }
  return channel;
}

struct Answer {
  std::optional<int> code;  // set once there is an answer
  std::vector<policy::IpAddress> addresses;
};

void AddAddress(const sockaddr* from, Answer& answer) {
  std::optional<policy::IpAddress> address;
  if (from->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(from);
    address = policy::IpAddress::FromBytes(
        {reinterpret_cast<const char*>(&v4->sin_addr), sizeof(v4->sin_addr)});
  } else if (from->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(from);
    address = policy::IpAddress::FromBytes(
        {reinterpret_cast<const char*>(&v6->sin6_addr), sizeof(v6->sin6_addr)});
  }
  if (!address || answer.addresses.size() >= Resolver::kMaxAddresses) return;
  if (std::find(answer.addresses.begin(), answer.addresses.end(), *address) ==
      answer.addresses.end()) {
    answer.addresses.push_back(*address);
  }
}

void HandleAnswer(void* to, int code, int /*timeouts*/, ares_addrinfo* info) {
  Answer& answer = *static_cast<Answer*>(to);
  answer.code = code;
  if (info == nullptr) return;
  for (const ares_addrinfo_node* node = info->nodes; node != nullptr;
       node = node->ai_next) {
    AddAddress(node->ai_addr, answer);
  }
  ::ares_freeaddrinfo(info);
}

// Waits once, for the channel's sockets or until the time of its next try.
absl::Status ServeOnce(ares_channel channel, const Sockets& sockets,
                       const Patience& patience) {
  std::vector<pollfd> fds = {{patience.ended, POLLIN, 0}};
  for (const auto& [fd, events] : sockets) fds.push_back({fd, events, 0});
  timeval next = {kTryMs / 1000, 0};
  ::ares_timeout(channel, &next, &next);
  absl::Duration wait = absl::DurationFromTimeval(next);
  wait = std::min(wait, patience.until - os::SteadyNow());
  if (wait <= absl::ZeroDuration() && os::SteadyNow() >= patience.until) {
    return absl::DeadlineExceededError("the name's lookup took too long");
  }
  const int timeout_ms =
      static_cast<int>(std::max<int64_t>(absl::ToInt64Milliseconds(wait), 0)) +
      1;
  if (::poll(fds.data(), fds.size(), timeout_ms) < 0 && errno != EINTR) {
    return os::ErrnoStatus("poll");
  }
  if (fds[0].revents != 0) return absl::CancelledError("the jail has ended");
  for (size_t i = 1; i < fds.size(); ++i) {
    const bool reads = (fds[i].revents & ~POLLOUT) != 0;
    const bool writes = (fds[i].revents & POLLOUT) != 0;
    if (!reads && !writes) continue;
    ::ares_process_fd(channel, reads ? fds[i].fd : ARES_SOCKET_BAD,
                      writes ? fds[i].fd : ARES_SOCKET_BAD);
  }
  // Handles queries whose time is over.
  ::ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  return absl::OkStatus();
}

absl::Status StatusOf(int code, const std::string& name) {
  const std::string words = absl::StrCat(name, ": ", ::ares_strerror(code));
  return code == ARES_ENOTFOUND || code == ARES_ENODATA || code == ARES_EBADNAME
             ? absl::NotFoundError(words)
             : absl::UnavailableError(words);
}

}  // namespace

absl::StatusOr<Resolver> Resolver::Create(
    const std::vector<std::string>& servers) {
  if (const int code = ::ares_library_init(ARES_LIB_INIT_ALL);
      code != ARES_SUCCESS) {
    return absl::InternalError(absl::StrCat("c-ares: ", ::ares_strerror(code)));
  }
  Resolver resolver(absl::StrJoin(servers, ","));
  // Reports now what would fail at each lookup.
  Sockets none;
  if (absl::Status opened = OpenChannel(resolver.servers_, none).status();
      !opened.ok()) {
    return absl::Status(opened.code(),
                        absl::StrCat("\"", resolver.servers_,
                                     "\": ", std::string(opened.message())));
  }
  return resolver;
}

Resolver::Resolver(Resolver&& other) noexcept
    : servers_(std::move(other.servers_)),
      owns_library_(std::exchange(other.owns_library_, false)) {}

Resolver::~Resolver() {
  if (owns_library_) ::ares_library_cleanup();
}

absl::StatusOr<std::vector<policy::IpAddress>> Resolver::Resolve(
    const std::string& name, const Patience& patience) const {
  // ORDER: both have to outlive the channel, whose end may still call back.
  Answer answer;
  Sockets sockets;
  absl::StatusOr<Channel> channel = OpenChannel(servers_, sockets);
  if (!channel.ok()) return channel.status();
  ares_addrinfo_hints hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ::ares_getaddrinfo(channel->get(), name.c_str(), nullptr, &hints,
                     HandleAnswer, &answer);
  while (!answer.code) {
    if (absl::Status served = ServeOnce(channel->get(), sockets, patience);
        !served.ok()) {
      return served;
    }
  }
  if (*answer.code != ARES_SUCCESS) return StatusOf(*answer.code, name);
  if (answer.addresses.empty()) return StatusOf(ARES_ENODATA, name);
  return std::move(answer.addresses);
}

}  // namespace sandglass::egress
