// Keys that the pool learns, and those that it is told to keep or to forget.
#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "server/base/log.h"
#include "server/pool/jail_pool.h"

namespace sandglass::server {

JailPool::Entry& JailPool::Learn(const JailKey& key) {
  if (const auto it = entries_.find(key); it != entries_.end()) {
    return it->second;
  }
  std::map<std::string_view, size_t> learnt_for;
  size_t learnt = 0;
  for (const auto& [each, entry] : entries_) {
    if (entry.always) continue;
    ++learnt;
    ++learnt_for[entry.tenants.last()];
  }
  if (learnt >= kMaxLearnt) {
    Erase(std::ranges::min_element(entries_, {}, [&](const auto& each) {
      const Entry& entry = each.second;
      return std::tuple(
          entry.always,
          -static_cast<ptrdiff_t>(learnt_for[entry.tenants.last()]),
          entry.last_use);
    }));
    wake_.Signal();
  }
  Entry& entry = EntryOf(key);
  entry.always = std::ranges::count(once_used_, key) > 0;
  return entry;
}

JailPool::Entry& JailPool::EntryOf(const JailKey& key) {
  const auto [it, added] =
      entries_.try_emplace(key, options_, key, next_serial_);
  if (added) ++next_serial_;
  return it->second;
}

JailPool::Entries::iterator JailPool::Erase(Entries::iterator it) {
  Condemn(it->second, 0, it->second.idle.size());
  return entries_.erase(it);
}

void JailPool::Keep(const JailKey& key) {
  if (options_.floor == 0) return;
  absl::MutexLock lock(&mutex_);
  EntryOf(key).always = true;
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
    it = in_force(it->first) ? std::next(it) : Erase(it);
  }
  for (const JailKey& key : always) EntryOf(key).always = true;
  once_used_ = std::move(once_used);
  Retarget(Now());
  wake_.SignalAll();
}

void JailPool::SetSpareMemory(int64_t bytes) {
  if (options_.floor == 0) return;
  const uint64_t most = options_.memory_budget_bytes;
  uint64_t held = 0;
  const uint64_t change =
      bytes < 0 ? -static_cast<uint64_t>(bytes) : static_cast<uint64_t>(bytes);
  bool news = false;
  {
    absl::MutexLock lock(&mutex_);
    held = bytes_;
    const uint64_t budget = bytes < 0 ? held - std::min(held, change)
                            : held >= most
                                ? most
                                : held + std::min(most - held, change);
    if (budget != bounds_.memory_budget_bytes) {
      bounds_.memory_budget_bytes = budget;
      Retarget(Now());
      wake_.SignalAll();
    }
    if (lacks_memory_ ? budget == most : bytes < 0 && held > 0) {
      lacks_memory_ = !lacks_memory_;
      news = true;
    }
  }
  if (!news) return;
  if (bytes >= 0) {
    Log(LogLevel::kInfo, "pool_has_memory_again", {});
    return;
  }
  Log(LogLevel::kWarning, "pool_shrinks_for_memory",
      {{"idle_bytes", held}, {"too_many_bytes", change}});
}

void JailPool::Forget(const std::function<bool(const JailKey&)>& unwanted) {
  absl::MutexLock lock(&mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    it = unwanted(it->first) ? Erase(it) : std::next(it);
  }
  Retarget(Now());
  wake_.SignalAll();
}

}  // namespace sandglass::server
