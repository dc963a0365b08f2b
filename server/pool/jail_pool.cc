#include "server/pool/jail_pool.h"

#include <algorithm>
#include <utility>

#include "sandbox/yard/spawner_event.h"
#include "server/base/log.h"

namespace sandglass::server {
namespace {

using sandbox::Jail;

// Targets move with every use of any key, so a jail is dropped only when its
// key has had too many for so long.
constexpr absl::Duration kSettle = absl::Seconds(1);
constexpr absl::Duration kLongestNap = absl::Seconds(5);
constexpr absl::Duration kZygoteRetry = absl::Milliseconds(100);
constexpr absl::Duration kShortestNap = absl::Microseconds(100);
constexpr absl::Duration kJustNow = absl::Milliseconds(50);

// A failure is reported once; then again only after a fill has worked, or when
// it fails in another way. `last` is how the fill before this one ended.
void LogFillNews(const JailKey& key, const absl::Status& last,
                 const absl::Status& status) {
  if (status == last) return;
  if (status.ok()) {
    Log(LogLevel::kInfo, "pool_fill_works_again",
        {{"kind", key.kind}, {"profile", key.profile}});
    return;
  }
  Log(LogLevel::kWarning, "pool_fill_failed",
      {{"kind", key.kind},
       {"profile", key.profile},
       {"code", absl::StatusCodeToString(status.code())},
       {"error", std::string(status.message())}});
}

}  // namespace

JailPool::JailPool(PoolOptions options, FillFunction fill,
                   HealthFunction healthy)
    : options_(std::move(options)),
      fill_(std::move(fill)),
      healthy_(std::move(healthy)),
      settle_(std::min(kSettle, options_.idle_age)),
      bounds_(options_),
      once_used_(options_.once_used) {
  if (options_.floor == 0) return;
  absl::MutexLock lock(&mutex_);
  for (const JailKey& key : options_.always) EntryOf(key).always = true;
  Retarget(Now());
}

JailPool::~JailPool() { Stop(); }

void JailPool::Start() {
  if (options_.floor == 0) return;
  uint64_t wanted = 0;
  uint64_t kept = 0;
  {
    absl::MutexLock lock(&mutex_);
    wanted =
        entries_.size() * uint64_t{std::min(options_.floor, options_.ceiling)};
    for (const uint32_t target : Targets(Now())) kept += target;
  }
  if (kept < wanted) {
    Log(LogLevel::kWarning, "pool_below_floor",
        {{"jails_wanted", wanted},
         {"jails_kept", kept},
         {"most_idle", uint64_t{options_.max_idle}},
         {"memory_budget_bytes", options_.memory_budget_bytes}});
  }
  for (uint32_t i = 0; i < std::max(options_.fillers, 1u); ++i) {
    threads_.emplace_back([this] { FillerLoop(); });
  }
}

void JailPool::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    wake_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::vector<std::unique_ptr<Jail>> dropped;
  absl::MutexLock lock(&mutex_);
  for (auto& [key, entry] : entries_) {
    Condemn(entry, 0, entry.idle.size());
  }
  dropped.swap(condemned_);
  condemned_bytes_ = 0;
  jails_ = 0;
  bytes_ = 0;
}

std::unique_ptr<Jail> JailPool::Acquire(const JailKey& key,
                                        const JailTaker& taker) {
  if (options_.floor == 0) return nullptr;
  for (bool first = true;; first = false) {
    // Declared before the lock below, so that no jail is destroyed while it is
    // held.
    std::unique_ptr<Jail> jail = HandOutNewest(key, taker, first);
    if (jail == nullptr || healthy_(*jail)) return jail;
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(key);
    if (stopped_ || it == entries_.end()) continue;
    --it->second.counts.hits;
    ++it->second.counts.died_idle;
    // Ending it takes system calls, so a filler does it.
    condemned_.push_back(std::move(jail));
    condemned_bytes_ += it->second.kind.idle_bytes;
    ++jails_;
    bytes_ += it->second.kind.idle_bytes;
    wake_.Signal();
  }
}

std::unique_ptr<Jail> JailPool::HandOutNewest(const JailKey& key,
                                              const JailTaker& taker,
                                              bool first) {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return nullptr;
  const MonotonicTime now = Now();
  Entry& entry = Learn(key);
  const uint32_t target = entry.target;
  if (first) {
    if (!last_take_ || now >= After(*last_take_, options_.slow_calm)) {
      busy_since_ = now;
    }
    last_take_ = now;
    entry.last_use = now;
    entry.tenants.Note(taker.tenant, now);
    entry.meter.Record(now, BurstWindow(entry.counts.mean_fill));
  }
  std::unique_ptr<Jail> jail;
  const bool shared =
      !taker.is_first &&
      entry.tenants.OthersSince(taker.tenant, now) < options_.idle_age;
  if (entry.idle.size() <= (shared ? KeptOf(target) : 0)) {
    ++entry.counts.misses;
    if (first && entry.was_full) {
      entry.meter.Raise(now, 2 * target);
      entry.was_full = false;
    }
  } else {
    jail = PopNewest(entry);
    ++entry.counts.hits;
  }
  Retarget(now);
  WakeIfWanted(now);
  return jail;
}

std::unique_ptr<Jail> JailPool::PopNewest(Entry& entry) {
  // The newest jail's memory is the warmest; when there are too many, the
  // oldest goes.
  std::unique_ptr<Jail> jail = std::move(entry.idle.back().jail);
  entry.idle.pop_back();
  --jails_;
  bytes_ -= entry.kind.idle_bytes;
  return jail;
}

std::unique_ptr<Jail> JailPool::AcquireForTrial(const JailKey& key) {
  std::unique_ptr<Jail> jail;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(key);
    if (stopped_ || it == entries_.end() || it->second.idle.empty()) {
      return nullptr;
    }
    jail = PopNewest(it->second);
    it->second.was_full = false;  // no run took this jail
    WakeIfWanted(Now());
  }
  // If the jail has died, only the trial loses by it.
  return healthy_(*jail) ? std::move(jail) : nullptr;
}

MadeJail JailPool::Fill(const JailKey& key) {
  const MonotonicTime began = Now();
  {
    absl::MutexLock lock(&mutex_);
    if (callers_filling_++ == 0) held_since_ = began;
  }
  MadeJail jail = MakeJail(key, sandbox::FillFor::kRun);
  absl::Status last = jail.status();
  {
    absl::MutexLock lock(&mutex_);
    const MonotonicTime now = Now();
    --callers_filling_;
    if (const auto it = entries_.find(key); it != entries_.end()) {
      last = RecordFill(it->second, jail.status(), began, now);
    }
    if (callers_filling_ == 0) WakeIfWanted(now);
  }
  LogFillNews(key, last, jail.status());
  return jail;
}

std::vector<PoolKeyState> JailPool::State() const {
  absl::MutexLock lock(&mutex_);
  const std::vector<uint32_t> targets = Targets(Now());
  std::vector<PoolKeyState> states;
  states.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    states.push_back(entry.counts);
    states.back().idle = static_cast<uint32_t>(entry.idle.size());
    states.back().target = targets[states.size() - 1];
  }
  return states;
}

MadeJail JailPool::MakeJail(const JailKey& key, sandbox::FillFor fill_for) {
  MadeJail jail = fill_(key, fill_for);
  if (jail.ok() && *jail == nullptr) {
    return absl::InternalError("the fill made no jail");
  }
  return jail;
}

void JailPool::Condemn(Entry& entry, size_t first, size_t count) {
  const auto begin = entry.idle.begin() + static_cast<ptrdiff_t>(first);
  const auto end = begin + static_cast<ptrdiff_t>(count);
  for (auto it = begin; it != end; ++it) {
    condemned_.push_back(std::move(it->jail));
  }
  condemned_bytes_ += count * entry.kind.idle_bytes;
  entry.idle.erase(begin, end);
}

std::vector<uint32_t> JailPool::Targets(MonotonicTime now) const {
  std::vector<Demand> demands;
  demands.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    demands.push_back({.always = entry.always,
                       .peak = entry.meter.Peak(now),
                       .unused_for = entry.UnusedFor(now),
                       .idle_bytes = entry.kind.idle_bytes,
                       .floor = entry.kind.floor,
                       .ceiling = entry.kind.ceiling});
  }
  return ShareTargets(demands, bounds_);
}

void JailPool::Retarget(MonotonicTime now) {
  const std::vector<uint32_t> targets = Targets(now);
  size_t i = 0;
  for (auto& [key, entry] : entries_) entry.target = targets[i++];
}

void JailPool::Review(MonotonicTime now) {
  Retarget(now);
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    CheckHealth(entry, now);
    if (entry.idle.size() <= entry.target) {
      entry.over_since.reset();
    } else if (!entry.over_since) {
      entry.over_since = now;
    } else if (now >= After(*entry.over_since, settle_)) {
      Condemn(entry, 0, entry.idle.size() - entry.target);
      entry.over_since.reset();
    }
    const bool forget = !entry.always && entry.idle.empty() &&
                        entry.coming == 0 &&
                        entry.UnusedFor(now) >= options_.idle_age;
    it = forget ? entries_.erase(it) : std::next(it);
  }
}

void JailPool::CheckHealth(Entry& entry, MonotonicTime now) {
  // From the newest on: where a dead one is taken out, the newer ones move up.
  for (size_t i = entry.idle.size(); i-- > 0;) {
    Idle& idle = entry.idle[i];
    if (now < After(idle.checked, options_.check_every)) continue;
    idle.checked = now;
    if (healthy_(*idle.jail)) continue;
    ++entry.counts.died_idle;
    Condemn(entry, i, 1);
  }
}

bool JailPool::Wants(const Entry& entry) const {
  return entry.idle.size() + entry.coming < entry.target &&
         !(entry.kind.slow && filling_slow_) && jails_ < options_.max_idle &&
         bytes_ + entry.kind.idle_bytes <= bounds_.memory_budget_bytes;
}

MonotonicTime JailPool::CalmUntil() const {
  return last_take_ ? After(*last_take_, options_.calm) : MonotonicTime::min();
}

MonotonicTime JailPool::FillableAt(const Entry& entry) const {
  MonotonicTime at = entry.retry_at.value_or(MonotonicTime::min());
  if (callers_filling_ > 0) {
    at = std::max(at, After(held_since_, options_.longest_hold));
  }
  if (entry.kind.slow) {
    if (last_take_) {
      at = std::max(at, std::min(After(*last_take_, options_.slow_calm),
                                 After(busy_since_, options_.longest_hold)));
    }
  } else if (2 * entry.idle.size() >= entry.target) {
    at = std::max(at, CalmUntil());
  }
  return at;
}

JailPool::Entries::iterator JailPool::PickFill(MonotonicTime now) {
  // A caller that varies the limits can make the pool learn many keys, so the
  // keys that are always kept come first.
  bool only_kept = false;
  for (const auto& [key, entry] : entries_) {
    only_kept |= entry.kind.slow && entry.always && Fillable(entry, now);
  }
  auto best = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    const Entry& entry = it->second;
    if (!Fillable(entry, now)) continue;
    if (entry.kind.slow && only_kept && !entry.always) continue;
    if (best == entries_.end()) best = it;
    // Stocks are compared as fractions of their targets.
    const uint64_t has =
        (entry.idle.size() + entry.coming) * uint64_t{best->second.target};
    const uint64_t best_has = (best->second.idle.size() + best->second.coming) *
                              uint64_t{entry.target};
    if (has < best_has ||
        (has == best_has && entry.last_use > best->second.last_use)) {
      best = it;
    }
  }
  return best;
}

MonotonicTime JailPool::NextLook(MonotonicTime now) const {
  // Peaks fade in steps of half of idle_age.
  MonotonicTime look = After(now, std::min(kLongestNap, options_.idle_age / 4));
  for (const auto& [key, entry] : entries_) {
    if (Wants(entry)) look = std::min(look, FillableAt(entry));
    if (entry.over_since) {
      look = std::min(look, After(*entry.over_since, settle_));
    }
    for (const Idle& idle : entry.idle) {
      look = std::min(look, After(idle.checked, options_.check_every));
    }
  }
  return look;
}

void JailPool::WakeIfWanted(MonotonicTime now) {
  for (const auto& [key, entry] : entries_) {
    const bool over = entry.idle.size() > entry.target && !entry.over_since;
    const bool wants = Wants(entry);
    // A filler that is watching sees it soon enough, unless the jail can be
    // made now.
    if ((wants && FillableAt(entry) <= now) ||
        ((wants || over) && watching_ == 0)) {
      wake_.Signal();
      return;
    }
  }
}

absl::Status JailPool::RecordFill(Entry& entry, const absl::Status& status,
                                  MonotonicTime began, MonotonicTime now) {
  PoolKeyState& counts = entry.counts;
  if (sandbox::IsZygoteStarting(status)) {
    entry.retry_at = After(now, kZygoteRetry);
    return status;
  }
  if (status.ok()) {
    counts.last_fill = absl::FromChrono(now - began);
    counts.mean_fill = counts.filled == 0
                           ? counts.last_fill
                           : counts.mean_fill * 0.8 + counts.last_fill * 0.2;
    ++counts.filled;
    entry.retry_at.reset();
    entry.backoff = absl::ZeroDuration();
  } else {
    ++counts.fill_failures;
    // Fills that were under way at the same time count as one failure.
    if (!entry.retry_at || now >= *entry.retry_at) {
      entry.backoff = NextBackoff(entry.backoff);
      entry.retry_at = After(now, entry.backoff);
    }
  }
  return std::exchange(entry.last_status, status);
}

void JailPool::FillerLoop() {
  while (std::optional<Work> work = NextWork()) {
    if (work->drop.empty()) {
      FillOne(*work);
      continue;
    }
    const auto jails = static_cast<uint32_t>(work->drop.size());
    work->drop.clear();
    absl::MutexLock lock(&mutex_);
    jails_ -= jails;
    bytes_ -= work->bytes;
  }
}

std::optional<JailPool::Work> JailPool::NextWork() {
  absl::MutexLock lock(&mutex_);
  while (!stopped_) {
    const MonotonicTime now = Now();
    Review(now);
    Work work;
    if (!condemned_.empty()) {
      work.drop.swap(condemned_);
      work.bytes = std::exchange(condemned_bytes_, 0);
      return work;
    }
    if (const auto it = PickFill(now); it != entries_.end()) {
      Entry& entry = it->second;
      work.key = it->first;
      work.serial = entry.serial;
      work.bytes = entry.kind.idle_bytes;
      work.slow = entry.kind.slow;
      filling_slow_ = filling_slow_ || work.slow;
      // Where jails are taken faster than complete ones can be made, it's
      // better to have one sooner than to have it rehearsed.
      if (2 * entry.idle.size() < entry.target &&
          entry.UnusedFor(now) < kJustNow) {
        work.fill_for = sandbox::FillFor::kRun;
      }
      ++entry.coming;
      ++jails_;
      bytes_ += entry.kind.idle_bytes;
      // One fill was let through; from now on the callers hold back the next
      // one again.
      held_since_ = now;
      // There may be work for another filler, too.
      WakeIfWanted(now);
      return work;
    }
    const MonotonicTime look = NextLook(now);
    const uint32_t watching = look <= CalmUntil() ? 1 : 0;
    watching_ += watching;
    wake_.WaitWithTimeout(&mutex_,
                          std::max(kShortestNap, absl::FromChrono(look - now)));
    watching_ -= watching;
  }
  return std::nullopt;
}

void JailPool::FillOne(const Work& work) {
  const MonotonicTime began = Now();
  MadeJail jail = MakeJail(work.key, work.fill_for);
  const absl::Status status = jail.status();
  absl::Status last = status;
  {
    absl::MutexLock lock(&mutex_);
    const MonotonicTime now = Now();
    if (work.slow) {
      filling_slow_ = false;
      busy_since_ = now;
    }
    const auto it = entries_.find(work.key);
    // The key may have been forgotten, and even learnt anew, meanwhile.
    const bool known = it != entries_.end() && it->second.serial == work.serial;
    if (known) {
      --it->second.coming;
      last = RecordFill(it->second, status, began, now);
    }
    if (known && status.ok()) {
      Entry& entry = it->second;
      entry.idle.push_back({*std::move(jail), now});
      if (entry.idle.size() >= entry.target) entry.was_full = true;
    } else {
      --jails_;
      bytes_ -= work.bytes;
    }
  }
  LogFillNews(work.key, last, status);
}

}  // namespace sandglass::server
