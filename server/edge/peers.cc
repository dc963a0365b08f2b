#include "server/edge/peers.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/edge/socket_tap.h"

namespace sandglass::server {
namespace {

// What gRPC (1.51) calls the other end of its channel into this process, which
// has no address. No other connection is called so: those have descriptors.
constexpr char kInProcess[] = "unknown";
constexpr char kInner[] = "inner:";

}  // namespace

PeerTable::~PeerTable() {
  for (const auto& [fd, entry] : entries_) {
    if (entry.tap != nullptr) SetTap(static_cast<int>(fd), nullptr);
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

int64_t PeerTable::AddInner(Identity caller) {
  absl::MutexLock lock(&mutex_);
  --last_inner_;
  entries_.emplace(last_inner_, Entry{.caller = std::move(caller)});
  return last_inner_;
}

void PeerTable::RemoveInner(int64_t number) {
  absl::MutexLock lock(&mutex_);
  entries_.erase(number);
}

std::string PeerTable::PeerOf(const grpc::ServerContextBase& call) {
  std::string peer = call.peer();
  if (peer != kInProcess) return peer;
  const auto [first, last] =
      call.client_metadata().equal_range(kConnectionMetadata);
  if (first == last) return peer;
  return absl::StrCat(
      kInner, absl::string_view(first->second.data(), first->second.size()));
}

bool PeerTable::IsInner(absl::string_view peer) {
  return absl::StartsWith(peer, kInner);
}

std::optional<int64_t> PeerTable::NumberOf(absl::string_view peer) {
  const bool inner = absl::ConsumePrefix(&peer, kInner);
  int64_t number = 0;
  if ((!inner && !absl::ConsumePrefix(&peer, "fd:")) ||
      !absl::SimpleAtoi(peer, &number) || (number < 0) != inner) {
    return std::nullopt;
  }
  return number;
}

std::optional<Identity> PeerTable::CallerOf(const std::string& peer) const {
  const std::optional<int64_t> number = NumberOf(peer);
  if (!number.has_value()) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(*number);
  if (it == entries_.end()) return std::nullopt;
  return it->second.caller;
}

void PeerTable::MarkProved(const std::string& peer) const {
  const std::optional<int64_t> number = NumberOf(peer);
  if (!number.has_value()) return;
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(*number);
  if (it != entries_.end()) it->second.proved = true;
}

bool PeerTable::Proved(int64_t number) const {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(number);
  return it != entries_.end() && it->second.proved;
}

}  // namespace sandglass::server
