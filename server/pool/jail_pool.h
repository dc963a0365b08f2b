#ifndef SANDGLASS_SERVER_POOL_JAIL_POOL_H_
#define SANDGLASS_SERVER_POOL_JAIL_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandbox/jail/jail.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/clock.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// A jail, or why there is none.
using MadeJail = absl::StatusOr<std::unique_ptr<sandbox::Jail>>;

// Makes one jail and waits until it is ready for a run; must come to an end.
// Called on filler threads and on callers' threads, several at once.
using FillFunction = std::function<MadeJail(const JailKey&, sandbox::FillFor)>;
// Returns false when the jail died while it was idle. Must neither block nor
// call the pool.
using HealthFunction = std::function<bool(sandbox::Jail&)>;

// Jails that are made ready before a run needs them. A jail that was handed out
// never comes back. How many wait depends on how many are used: see TargetFor.
// Thread-safe, except that Start and Stop must be called by one thread.
class JailPool {
 public:
  // The most keys that are kept at once without being named in `always`. For
  // one more, the least recently used one of the tenant with most of them is
  // dropped, so that who varies the limits only pushes out its own.
  static constexpr size_t kMaxLearnt = 16;

  JailPool(PoolOptions options, FillFunction fill, HealthFunction healthy);
  // Calls Stop(). No caller may be inside Acquire or Fill any more.
  ~JailPool();
  JailPool(const JailPool&) = delete;
  JailPool& operator=(const JailPool&) = delete;

  // Starts the fillers. Call once.
  void Start();
  // Waits for the fills that are under way and drops all idle jails. Take finds
  // none afterwards. May be called again.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the newest idle jail of this key that is alive; it belongs to the
  // caller from now on. Returns nullptr when there is none for this taker; Fill
  // then makes one. It makes no jail, drops none and never waits for a filler;
  // at most it wakes one. It remembers that the key is used. KeptOf says how
  // many are for tenants that have no run going on, if others used the key.
  std::unique_ptr<sandbox::Jail> Acquire(const JailKey& key,
                                         const JailTaker& taker)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a trial, which is no use of the key: nothing is remembered.
  std::unique_ptr<sandbox::Jail> AcquireForTrial(const JailKey& key)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps this key from now on as if it had been in `always`.
  void Keep(const JailKey& key) ABSL_LOCKS_EXCLUDED(mutex_);

  // To be called when another policy is in force. From now on the pool keeps
  // these keys as if they had been in `always` and `once_used`, and no others,
  // and it drops all jails of keys for which `in_force` is false. `in_force`
  // must not call the pool.
  void Renew(const std::vector<JailKey>& always, std::vector<JailKey> once_used,
             const std::function<bool(const JailKey&)>& in_force)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Forgets the keys for which `unwanted` is true. All their jails are dropped
  // soon after this has returned. `unwanted` must not call the pool.
  void Forget(const std::function<bool(const JailKey&)>& unwanted)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a jail on the caller's thread. Because a run waits for this one, the
  // fillers hold back meanwhile (PoolOptions::longest_hold).
  MadeJail Fill(const JailKey& key) ABSL_LOCKS_EXCLUDED(mutex_);

  // By how many bytes of memory the idle jails may grow from now on; negative:
  // by so many they must shrink, below their floors if need be. To be called
  // every few seconds; until the first time only the budget counts.
  void SetSpareMemory(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // Does for the fillers what Admission::Recheck does for PopOverdue.
  void Recheck() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    wake_.SignalAll();
  }

  // Counts since the start, or since the key was learnt; ordered by key.
  std::vector<PoolKeyState> State() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Idle {
    std::unique_ptr<sandbox::Jail> jail;
    MonotonicTime checked;  // when it was last known to be alive
  };
  struct Entry {
    Entry(const PoolOptions& options, const JailKey& key, uint64_t number)
        : serial(number),
          meter(options.idle_age, options.ceiling),
          counts{.key = key} {
      const auto found = options.kinds.find(key.kind);
      if (found != options.kinds.end()) kind = found->second;
    }
    absl::Duration UnusedFor(MonotonicTime now) const {
      return last_use ? absl::FromChrono(now - *last_use)
                      : absl::InfiniteDuration();
    }

    uint64_t serial;  // differs after a key was forgotten and learnt anew
    bool always = false;
    RecentTenants tenants;
    KindOptions kind;
    DemandMeter meter;
    std::optional<MonotonicTime> last_use;
    std::deque<Idle> idle;  // oldest first
    uint32_t coming = 0;    // being made by fillers
    uint32_t target = 0;
    // True when the stock was complete at some time since it last grew. Then a
    // miss says that the target is too low, and not just that filling takes
    // time.
    bool was_full = false;
    // When there began to be more idle jails than the target.
    std::optional<MonotonicTime> over_since;
    absl::Duration backoff;
    std::optional<MonotonicTime> retry_at;
    absl::Status last_status;  // of a fill
    PoolKeyState counts;
  };
  using Entries = std::map<JailKey, Entry>;

  // What a filler does without holding the lock: it drops jails or makes one.
  struct Work {
    std::vector<std::unique_ptr<sandbox::Jail>> drop;
    JailKey key;
    uint64_t serial = 0;
    uint64_t bytes = 0;  // of the jail made or of those dropped
    sandbox::FillFor fill_for = sandbox::FillFor::kStock;
    bool slow = false;
  };

  MadeJail MakeJail(const JailKey& key, sandbox::FillFor fill_for);
  void FillerLoop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sleeps until there is something to do. Returns nullopt after Stop().
  std::optional<Work> NextWork() ABSL_LOCKS_EXCLUDED(mutex_);
  void FillOne(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns nullptr when there is none. `first` is false when it replaces a
  // jail that turned out to be dead.
  std::unique_ptr<sandbox::Jail> HandOutNewest(const JailKey& key,
                                               const JailTaker& taker,
                                               bool first)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The entry of a key, which is made if there is none.
  Entry& EntryOf(const JailKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same for a key that is used, in place of another if there are too many.
  Entry& Learn(const JailKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Condemns all its jails and takes it out. Returns the next one.
  Entries::iterator Erase(Entries::iterator it)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the newest idle jail. Precondition: there is one.
  std::unique_ptr<sandbox::Jail> PopNewest(Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Marks idle jails, counted from the oldest, for a filler to drop.
  void Condemn(Entry& entry, size_t first, size_t count)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<uint32_t> Targets(MonotonicTime now) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Retarget(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Condemns jails that are dead or exceed the target, and forgets keys that
  // are no longer used.
  void Review(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckHealth(Entry& entry, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether one more jail of this key is wanted and there is room for it.
  bool Wants(const Entry& entry) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // When the calm after the last Take ends; a time in the past if it has ended.
  MonotonicTime CalmUntil() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // When a filler may make a jail of this key; a time in the past means now.
  MonotonicTime FillableAt(const Entry& entry) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool Fillable(const Entry& entry, MonotonicTime now) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return Wants(entry) && FillableAt(entry) <= now;
  }
  // The key that may be filled now and has the fewest jails relative to its
  // target; among slow kinds, keys that are always kept come first.
  Entries::iterator PickFill(MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When a filler has something to do even if nobody wakes it.
  MonotonicTime NextLook(MonotonicTime now) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Wakes a filler if there is work for it that no filler knows of.
  void WakeIfWanted(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns how the fill before this one ended, for the log; that is `status`
  // itself when there is nothing to say.
  absl::Status RecordFill(Entry& entry, const absl::Status& status,
                          MonotonicTime began, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PoolOptions options_;
  const FillFunction fill_;
  const HealthFunction healthy_;
  // How long an excess lasts before it is dropped.
  const absl::Duration settle_;
  std::vector<std::thread> threads_;

  mutable absl::Mutex mutex_;
  // The options' own, with as much memory as there is now.
  PoolBounds bounds_ ABSL_GUARDED_BY(mutex_);
  absl::CondVar wake_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<JailKey> once_used_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_serial_ ABSL_GUARDED_BY(mutex_) = 1;
  std::vector<std::unique_ptr<sandbox::Jail>> condemned_
      ABSL_GUARDED_BY(mutex_);
  uint64_t condemned_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Counts of jails that are idle, being made, condemned or being dropped.
  uint32_t jails_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t callers_filling_ ABSL_GUARDED_BY(mutex_) = 0;
  // When the callers began to hold the fillers back.
  MonotonicTime held_since_ ABSL_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> last_take_ ABSL_GUARDED_BY(mutex_);
  // Fillers that only sleep until it is calm: while there is one, Take need not
  // wake another.
  uint32_t watching_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether a filler is making a jail of a slow kind; and since when none was
  // made while runs came without a calm moment.
  bool filling_slow_ ABSL_GUARDED_BY(mutex_) = false;
  MonotonicTime busy_since_ ABSL_GUARDED_BY(mutex_);
  bool lacks_memory_ ABSL_GUARDED_BY(mutex_) = false;  // as the log says
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_JAIL_POOL_H_
