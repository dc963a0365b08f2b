// Keys that the pool is told to keep or to forget.
#include <utility>

#include "server/jail_pool.h"

namespace sandglass::server {

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
  Retarget(Monotonic::now());
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
  Retarget(Monotonic::now());
  wake_.SignalAll();
}

}  // namespace sandglass::server
