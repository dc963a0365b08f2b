// Keys that the pool learns, and those that it is told to keep or to forget.
#include <algorithm>
#include <utility>

#include "server/pool/jail_pool.h"

namespace sandglass::server {

JailPool::Entry& JailPool::Learn(const JailKey& key) {
  if (const auto it = entries_.find(key); it != entries_.end()) {
    return it->second;
  }
  size_t learnt = 0;
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->second.always) continue;
    ++learnt;
    if (oldest == entries_.end() ||
        it->second.last_use < oldest->second.last_use) {
      oldest = it;
    }
  }
  if (learnt >= kMaxLearnt) {
    Condemn(oldest->second, 0, oldest->second.idle.size());
    entries_.erase(oldest);
    wake_.Signal();
  }
  const bool always =
      std::find(once_used_.begin(), once_used_.end(), key) != once_used_.end();
  return entries_.try_emplace(key, options_, key, next_serial_++, always)
      .first->second;
}

void JailPool::Keep(const JailKey& key) {
  if (options_.floor == 0) return;
  absl::MutexLock lock(&mutex_);
  const auto [it, added] =
      entries_.try_emplace(key, options_, key, next_serial_, /*always=*/true);
  if (added) ++next_serial_;
  it->second.always = true;
  const MonotonicTime now = Now();
  Retarget(now);
  WakeIfWanted(now);
}

void JailPool::Renew(const std::vector<JailKey>& always,
                     std::vector<JailKey> once_used,
                     const std::function<bool(const JailKey&)>& in_force) {
  if (options_.floor == 0) return;
  absl::MutexLock lock(&mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    it->second.always = false;
    if (in_force(it->first)) {
      ++it;
      continue;
    }
    Condemn(it->second, 0, it->second.idle.size());
    it = entries_.erase(it);
  }
  for (const JailKey& key : always) {
    const auto [it, added] =
        entries_.try_emplace(key, options_, key, next_serial_, /*always=*/true);
    if (added) ++next_serial_;
    it->second.always = true;
  }
  once_used_ = std::move(once_used);
  Retarget(Now());
  wake_.SignalAll();
}

void JailPool::Forget(const std::function<bool(const JailKey&)>& unwanted) {
  absl::MutexLock lock(&mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (!unwanted(it->first)) {
      ++it;
      continue;
    }
    Condemn(it->second, 0, it->second.idle.size());
    it = entries_.erase(it);
  }
  Retarget(Now());
  wake_.SignalAll();
}

}  // namespace sandglass::server
