#include "server/edge/peers.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "server/edge/socket_tap.h"

namespace sandglass::server {

PeerTable::~PeerTable() {
  for (const auto& [fd, entry] : entries_) {
    if (entry.tap != nullptr) SetTap(fd, nullptr);
  }
}

bool PeerTable::Add(int fd, Identity caller,
                    std::unique_ptr<ConnectionTap> tap) {
  absl::MutexLock lock(&mutex_);
  ConnectionTap* const raw = tap.get();
  const bool added =
      entries_.emplace(fd, Entry{std::move(caller), std::move(tap)}).second;
  if (added && raw != nullptr) SetTap(fd, raw);
  return added;
}

void PeerTable::MarkClosed(int fd, absl::Duration grace) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(fd);
  if (it == entries_.end() || it->second.closed) return;
  it->second.closed = true;
  closed_.emplace(After(Now(), grace), fd);
  // It stays in place: what gRPC may still read must not come by it in plain
  // text, if the connection had TLS.
  if (it->second.tap != nullptr) it->second.tap->Close();
}

std::vector<std::string> PeerTable::Sweep() {
  const MonotonicTime now = Now();
  std::vector<std::string> callers;
  absl::MutexLock lock(&mutex_);
  while (!closed_.empty() && closed_.begin()->first <= now) {
    const auto entry = entries_.find(closed_.begin()->second);
    closed_.erase(closed_.begin());
    SetTap(entry->first, nullptr);
    callers.push_back(std::move(entry->second.caller.name));
    entries_.erase(entry);
  }
  return callers;
}

bool PeerTable::Contains(int fd) const {
  absl::MutexLock lock(&mutex_);
  return entries_.count(fd) != 0;
}

std::optional<int> PeerTable::NumberOf(const std::string& peer) {
  absl::string_view rest = peer;
  int fd = -1;
  if (!absl::ConsumePrefix(&rest, "fd:") || !absl::SimpleAtoi(rest, &fd)) {
    return std::nullopt;
  }
  return fd;
}

std::optional<Identity> PeerTable::CallerOf(const std::string& peer) const {
  const std::optional<int> fd = NumberOf(peer);
  if (!fd.has_value()) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(*fd);
  if (it == entries_.end()) return std::nullopt;
  return it->second.caller;
}

void PeerTable::MarkProved(const std::string& peer) const {
  const std::optional<int> fd = NumberOf(peer);
  if (!fd.has_value()) return;
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(*fd);
  if (it != entries_.end()) it->second.proved = true;
}

bool PeerTable::Proved(int fd) const {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(fd);
  return it != entries_.end() && it->second.proved;
}

}  // namespace sandglass::server
