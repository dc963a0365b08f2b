#ifndef SANDGLASS_SERVER_POOL_POOL_TARGETS_H_
#define SANDGLASS_SERVER_POOL_POOL_TARGETS_H_

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "server/base/clock.h"
#include "server/layers/jail_layer.h"

// Decides how many jails to keep ready. This is arithmetic on what was asked
// for recently, with no clock, lock or thread of its own.
namespace sandglass::server {

// The sort of jail that a run needs; jails of one key are interchangeable. Only
// those limits count that a jail is built with; the other limits are given to
// the program when it starts.
struct JailKey {
  std::string kind;     // "exec" (init waits), or a zygote's name
  std::string profile;  // the jail template
  policy::Limits limits;
  JailLayer layer;

  // The fields that are compared.
  auto BuiltWith() const {
    return std::tie(kind, profile, layer.id, limits.memory_bytes,
                    limits.max_processes, limits.cpu_millis, limits.tmp_bytes,
                    limits.workspace_bytes, limits.max_files);
  }
  friend bool operator==(const JailKey& a, const JailKey& b) {
    return a.BuiltWith() == b.BuiltWith();
  }
  friend std::strong_ordering operator<=>(const JailKey& a, const JailKey& b) {
    return a.BuiltWith() <=> b.BuiltWith();
  }
};

// For whom a jail is taken.
struct JailTaker {
  std::string tenant;
  bool is_first = true;  // none of the tenant's runs goes on
};

// How many jails of one kind are kept, and how.
struct KindOptions {
  uint64_t idle_bytes = uint64_t{2} << 20;  // what an idle one holds
  // These replace the pool's own values where they are set and lower.
  std::optional<uint32_t> floor;
  std::optional<uint32_t> ceiling;
  // True when making one keeps a processor busy for long. Jails of all slow
  // kinds together are made one at a time, and not while runs come
  // (PoolOptions::slow_calm).
  bool slow = false;
};

// How many idle jails there may be.
struct PoolBounds {
  // The idle jails that are kept of each key that is always kept or was used
  // recently. 0 turns the pool off.
  uint32_t floor = 2;
  uint32_t ceiling = 16;   // most idle jails of one key; limits `floor`, too
  uint32_t max_idle = 64;  // of all keys together
  // The memory that all idle jails may use together; each counts with the
  // idle_bytes of its kind.
  uint64_t memory_budget_bytes = uint64_t{256} << 20;
  // A key that nobody used for this long shrinks to its floor if it is in
  // `always`, and is forgotten if not.
  absl::Duration idle_age = absl::Seconds(60);
};

struct PoolOptions : PoolBounds {
  // By the kind's name; those that are not there have the default.
  std::map<std::string, KindOptions> kinds;
  // Threads, 1 or more; each waits most of the time.
  uint32_t fillers = std::clamp(std::thread::hardware_concurrency(), 2u, 16u);
  std::vector<JailKey> always;     // filled from the start
  std::vector<JailKey> once_used;  // join `always` after their first Take

  // For so long after a Take, no jail is made in advance for a key that has at
  // least half of its target.
  absl::Duration calm = absl::Milliseconds(2);
  // The same for slow kinds, however many jails they have. But one is filled
  // longest_hold after the one before it, even if there was no calm.
  absl::Duration slow_calm = absl::Milliseconds(20);
  // Callers that make jails themselves hold the fillers back for no longer than
  // this at a time, so that one fill that hangs doesn't starve all keys.
  absl::Duration longest_hold = absl::Seconds(1);
  // How often idle jails are checked for health.
  absl::Duration check_every = absl::Seconds(5);
};

// The state of one key. Counts are since the start, or since the key was
// learnt.
struct PoolKeyState {
  JailKey key;
  uint32_t idle;
  uint32_t target;
  uint64_t hits;
  uint64_t misses;
  uint64_t filled;  // jails made, by fillers and callers
  uint64_t fill_failures;
  uint64_t died_idle;
  absl::Duration last_fill;  // of the last fill that succeeded
  absl::Duration mean_fill;  // moving average
};

// What is known about the use of one key.
struct Demand {
  bool always = false;
  uint32_t peak = 0;  // jails that a burst like the recent ones would take
  absl::Duration unused_for = absl::InfiniteDuration();  // since the last use
  uint64_t idle_bytes = 0;                               // of one jail
  // Those of its kind, see KindOptions.
  std::optional<uint32_t> floor;
  std::optional<uint32_t> ceiling;
};

// The number of idle jails that this key should have if it were alone. If it is
// always kept or was used within idle_age, that is the recent peak, at least
// the floor, and at most what the ceiling, max_idle and the memory budget
// allow. Otherwise it is 0.
uint32_t TargetFor(const Demand& demand, const PoolBounds& bounds);

// The targets of all keys together, in the order of `demands`; the keys share
// max_idle and the memory budget. First come the floors of the keys that are
// always kept, then those of the others: one jail per key in turn, the most
// recently used key first. What is left goes to what the keys want beyond that.
// Each next jail goes to the key whose jails hold the least memory with it, so
// that a kind of large jails doesn't take what many small ones could have.
std::vector<uint32_t> ShareTargets(const std::vector<Demand>& demands,
                                   const PoolBounds& bounds);

// Measures the most takes within one window recently. A peak is remembered for
// at least half and at most the whole of `memory`.
class DemandMeter {
 public:
  // Counts no higher than `max`, which bounds what it stores.
  DemandMeter(absl::Duration memory, uint32_t max);

  // Notes one take now; `window` is about as long as a fill lasts. Times of
  // later calls must never be earlier.
  void Record(MonotonicTime now, absl::Duration window);
  // Makes the peak at least this.
  void Raise(MonotonicTime now, uint32_t peak);
  uint32_t Peak(MonotonicTime now) const;

 private:
  void Roll(MonotonicTime now);

  // Two periods follow each other, so that an old peak is forgotten without
  // keeping a list.
  MonotonicTime::duration period_;
  uint32_t max_;
  MonotonicTime period_start_;
  uint32_t current_ = 0;
  uint32_t previous_ = 0;
  std::deque<MonotonicTime> takes_;  // those within the last window
};

// Which tenants used a key last: two of them, since one who asks wants to know
// of others. Their names are at most 63 bytes long.
class RecentTenants {
 public:
  // Times of later calls must never be earlier.
  void Note(std::string_view tenant, MonotonicTime now);
  // For how long no other tenant than this one has used it; infinite: never.
  absl::Duration OthersSince(std::string_view tenant, MonotonicTime now) const;
  // Who used it last; empty: nobody.
  const std::string& last() const { return uses_[0].tenant; }

 private:
  struct Use {
    std::string tenant;
    std::optional<MonotonicTime> time;
  };
  std::array<Use, 2> uses_;  // of two tenants, the later one first
};

// How many of the last jails of a key with this target are kept for tenants
// none of whose runs goes on, if another tenant than the one that asks has used
// the key within idle_age.
uint32_t KeptOf(uint32_t target);

// The window in which takes count as one burst: as long as a fill lasts, but at
// least 100 ms and at most 1 s. Jails that are taken during it can't have been
// replaced yet.
absl::Duration BurstWindow(absl::Duration mean_fill);

// How long to wait after a failed fill when `last` was the wait before it:
// first 1 s, then doubling up to 30 s.
absl::Duration NextBackoff(absl::Duration last);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_POOL_TARGETS_H_
