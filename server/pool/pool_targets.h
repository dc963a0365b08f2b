#ifndef SANDGLASS_SERVER_POOL_POOL_TARGETS_H_
#define SANDGLASS_SERVER_POOL_POOL_TARGETS_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "server/base/clock.h"
#include "server/layers/jail_layer.h"

// How many jails to keep ready: arithmetic on what was asked for of late, with
// no clock, lock or thread of its own.
namespace sandglass::server {

// What runs of one sort need; jails of one key are interchangeable. Of the
// limits only those count that a jail is built with: the others are given to
// the program when it starts.
struct JailKey {
  std::string kind;     // "exec" (init waits), or a zygote's name
  std::string profile;  // the jail template
  policy::Limits limits;
  JailLayer layer;

  // All that is compared.
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

// How jails of one kind are kept.
struct KindOptions {
  uint64_t idle_bytes = uint64_t{2} << 20;  // what one that waits holds
  // Where set and lower than the pool's own.
  std::optional<uint32_t> floor;
  std::optional<uint32_t> ceiling;
  // Filling one keeps a processor busy for long: one at a time, of all such
  // kinds together, and not while runs come (PoolOptions::slow_calm).
  bool slow = false;
};

struct PoolOptions {
  // Idle jails of each key that is always kept, or was used of late. 0: the
  // pool is off.
  uint32_t floor = 2;
  uint32_t ceiling = 16;    // most idle jails of one key; above `floor` it wins
  uint32_t most_idle = 64;  // of all keys together
  // What idle jails may use together, each of them counted with idle_bytes of
  // its kind. Empty function: KindOptions as they are by default.
  uint64_t memory_budget_bytes = uint64_t{256} << 20;
  std::function<KindOptions(const std::string& kind)> kinds;
  // A key that nobody used for this long shrinks to its floor if it is in
  // `always`, and is forgotten if not.
  absl::Duration idle_age = absl::Seconds(60);
  uint32_t fillers = 2;            // threads, 1 or more
  std::vector<JailKey> always;     // filled from the start
  std::vector<JailKey> once_used;  // as if in `always` after the first Take

  // For so long after a Take no jail is made ahead of a key that has at least
  // half of its target.
  absl::Duration calm = absl::Milliseconds(2);
  // The same for kinds that are slow, whatever they have; but one is filled
  // longest_hold after the one before it even if there was no calm.
  absl::Duration slow_calm = absl::Milliseconds(20);
  // Callers that make jails themselves hold the fillers back for no longer than
  // this at a time, so that one fill that hangs doesn't starve all keys.
  absl::Duration longest_hold = absl::Seconds(1);
  // Waiting jails are checked for health so often.
  absl::Duration check_every = absl::Seconds(5);
};

// How one key does; counts since the start, or since the key was learnt.
struct PoolKeyState {
  JailKey key;
  uint32_t idle;
  uint32_t target;
  uint64_t hits;
  uint64_t misses;
  uint64_t filled;  // jails made, by fillers and callers
  uint64_t fill_failures;
  uint64_t died_idle;
  absl::Duration last_fill;  // of one that succeeded
  absl::Duration mean_fill;  // moving average
};

// What is known of one key's use.
struct Demand {
  bool always = false;
  uint32_t peak = 0;  // jails that a burst like those of late would take
  absl::Duration unused_for = absl::InfiniteDuration();  // since the last use
  uint64_t idle_bytes = 0;                               // of one jail
  // Of its kind, see KindOptions.
  std::optional<uint32_t> floor;
  std::optional<uint32_t> ceiling;
};

// Idle jails that this key should have when it is alone: the peak, at least the
// floor when it is always kept or was used within idle_age, within the ceiling,
// most_idle and the memory budget; otherwise 0.
uint32_t TargetFor(const Demand& demand, const PoolOptions& options);

// The targets of all keys together, in the order of `demands`: they share
// most_idle and the memory budget. First come the floors of the keys that are
// always kept, then those of the others, one jail per key in turn, the most
// recently used key first; then what each wants above, the next jail always
// being that of the key whose jails hold the least memory with it: a kind of
// large jails doesn't take what many small ones could have.
std::vector<uint32_t> ShareTargets(const std::vector<Demand>& demands,
                                   const PoolOptions& options);

// The most takes within one window, of late: a peak is remembered for between
// one half and the whole of `memory`.
class TakeMeter {
 public:
  // `most`: counts no higher, which bounds what it stores.
  TakeMeter(absl::Duration memory, uint32_t most);

  // One take now, `window` being about how long a fill lasts. Times of later
  // calls are never earlier.
  void Note(MonotonicTime now, absl::Duration window);
  // The peak is at least this.
  void Raise(MonotonicTime now, uint32_t peak);
  uint32_t Peak(MonotonicTime now) const;

 private:
  void Roll(MonotonicTime now);

  // Two periods in turn, so that an old peak goes without a list of them.
  MonotonicTime::duration period_;
  uint32_t most_;
  MonotonicTime period_start_;
  uint32_t current_ = 0;
  uint32_t previous_ = 0;
  std::deque<MonotonicTime> takes_;  // of the last window
};

// The window in which takes count as one burst: what a fill lasts, 100 ms to
// 1 s. Jails taken meanwhile can't have been replaced.
absl::Duration BurstWindow(absl::Duration mean_fill);

// How long to wait after a failed fill, `last` being the wait before it: 1 s,
// doubling to 30 s.
absl::Duration NextBackoff(absl::Duration last);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_POOL_TARGETS_H_
