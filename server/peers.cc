#include "server/peers.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace sandglass::server {

bool PeerTable::Add(int fd, Caller caller) {
  absl::MutexLock lock(&mutex_);
  return entries_.emplace(fd, Entry{std::move(caller), std::nullopt}).second;
}

void PeerTable::MarkClosed(int fd, absl::Duration grace) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(fd);
  if (it != entries_.end()) {
    it->second.forget_at = Monotonic::now() + absl::ToChronoNanoseconds(grace);
  }
}

void PeerTable::Sweep() {
  const MonotonicTime now = Monotonic::now();
  absl::MutexLock lock(&mutex_);
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.second.forget_at.has_value() && *entry.second.forget_at <= now;
  });
}

bool PeerTable::Contains(int fd) const {
  absl::MutexLock lock(&mutex_);
  return entries_.count(fd) != 0;
}

std::optional<Caller> PeerTable::CallerOf(const std::string& peer) const {
  absl::string_view rest = peer;
  if (absl::ConsumePrefix(&rest, "fd:")) {
    int fd = -1;
    if (!absl::SimpleAtoi(rest, &fd)) return std::nullopt;
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(fd);
    if (it == entries_.end()) return std::nullopt;
    return it->second.caller;
  }
  if (absl::StartsWith(peer, "ipv4:127.")) return Caller{"tcp:127.0.0.1"};
  if (absl::StartsWith(peer, "ipv6:[::1]:") ||
      absl::StartsWith(peer, "ipv6:%5B::1%5D:")) {
    return Caller{"tcp:[::1]"};
  }
  return std::nullopt;
}

}  // namespace sandglass::server
