#include "server/peers.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "server/socket_tap.h"

namespace sandglass::server {

PeerTable::~PeerTable() {
  for (const auto& [fd, entry] : entries_) {
    if (entry.tap != nullptr) SetTap(fd, nullptr);
  }
}

bool PeerTable::Add(int fd, Caller caller, std::unique_ptr<ConnectionTap> tap) {
  absl::MutexLock lock(&mutex_);
  ConnectionTap* const raw = tap.get();
  const bool added =
      entries_
          .emplace(fd, Entry{std::move(caller), std::move(tap), std::nullopt})
          .second;
  if (added && raw != nullptr) SetTap(fd, raw);
  return added;
}

void PeerTable::MarkClosed(int fd, absl::Duration grace) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(fd);
  if (it == entries_.end()) return;
  it->second.forget_at = Monotonic::now() + absl::ToChronoNanoseconds(grace);
  if (it->second.tap == nullptr) return;
  SetTap(fd, nullptr);
  it->second.tap->Close();
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
  int fd = -1;
  if (!absl::ConsumePrefix(&rest, "fd:") || !absl::SimpleAtoi(rest, &fd)) {
    return std::nullopt;
  }
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(fd);
  if (it == entries_.end()) return std::nullopt;
  return it->second.caller;
}

}  // namespace sandglass::server
