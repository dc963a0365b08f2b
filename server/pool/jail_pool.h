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
#include "server/pool/fill_log.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// Makes one jail ready for a run and waits for it; must come to an end. Called
// on a filler thread or on a caller's, several at once.
using FillFunction =
    std::function<absl::StatusOr<std::unique_ptr<sandbox::Jail>>(
        const JailKey&, sandbox::FillFor)>;
// False when the jail died while it waited. Must not block nor call the pool.
using HealthFunction = std::function<bool(sandbox::Jail&)>;

// Jails that are ready for a run before it comes. A jail that was handed out
// never comes back. How many wait follows what is used: see TargetFor.
// Thread-safe, but for Start and Stop, which one thread calls.
class JailPool {
 public:
  // Keys that nobody named in `always` and that are kept at once; for one more
  // the least recently used goes, so that a caller who varies the limits can't
  // fill the machine.
  static constexpr size_t kMostLearnt = 16;

  JailPool(PoolOptions options, FillFunction fill, HealthFunction healthy);
  // Stops. No caller may be inside Take or Fill any more.
  ~JailPool();
  JailPool(const JailPool&) = delete;
  JailPool& operator=(const JailPool&) = delete;

  // Starts the fillers. Call once.
  void Start();
  // Waits for fills that are under way and drops all idle jails. Take has none
  // afterwards. May be called again.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // An idle jail of this key, the newest that is alive, and the caller's from
  // now on; nullptr when there is none, then Fill makes one. Makes no jail,
  // drops none and never waits for a filler; at most it wakes one. Remembers
  // that the key is used.
  std::unique_ptr<sandbox::Jail> Take(const JailKey& key)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a trial, which is no use of the key: nothing is remembered.
  std::unique_ptr<sandbox::Jail> TakeForTrial(const JailKey& key)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps this key from now on as if it had been in `always`.
  void Keep(const JailKey& key) ABSL_LOCKS_EXCLUDED(mutex_);

  // Another policy is in force: keeps these keys from now on as if they had
  // been in `always` and `once_used`, and no others, and drops all jails of
  // keys for which `in_force` is false. It must not call the pool.
  void Renew(const std::vector<JailKey>& always, std::vector<JailKey> once_used,
             const std::function<bool(const JailKey&)>& in_force)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops all jails of the keys for which `unwanted` is true, soon after this
  // returned, and forgets these keys. It must not call the pool.
  void Forget(const std::function<bool(const JailKey&)>& unwanted)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a jail on the caller's thread. The fillers hold back meanwhile
  // (PoolOptions::longest_hold): a run waits for this one.
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> Fill(const JailKey& key)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // As Admission::LookAgain, for the fillers.
  void LookAgain() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    wake_.SignalAll();
  }

  using KeyState = PoolKeyState;
  // Since the start, or since the key was learnt; ordered by key.
  std::vector<KeyState> State() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Idle {
    std::unique_ptr<sandbox::Jail> jail;
    MonotonicTime checked;  // when it was last known to live
  };
  struct Entry {
    Entry(const PoolOptions& options, const JailKey& key, uint64_t number,
          bool always_kept);
    absl::Duration UnusedFor(MonotonicTime now) const {
      return last_use ? absl::FromChrono(now - *last_use)
                      : absl::InfiniteDuration();
    }

    uint64_t serial;  // tells a key that was forgotten and learnt anew apart
    bool always;
    KindOptions kind;
    TakeMeter meter;
    std::optional<MonotonicTime> last_use;
    std::deque<Idle> idle;  // oldest first
    uint32_t coming = 0;    // in the fillers' hands
    uint32_t target = 0;
    // The stock was complete since it last grew, so a miss says that the target
    // is too low and not just that filling it takes time.
    bool was_full = false;
    std::optional<MonotonicTime> over_since;  // more idle than the target
    absl::Duration backoff;
    std::optional<MonotonicTime> retry_at;
    absl::Status last_status;  // of a fill
    KeyState counts{};
  };
  using Entries = std::map<JailKey, Entry>;

  // What a filler does without the lock: drops jails, or makes one.
  struct Work {
    std::vector<std::unique_ptr<sandbox::Jail>> drop;
    JailKey key;
    uint64_t serial = 0;
    uint64_t bytes = 0;  // of the one or the others
    sandbox::FillFor fill_for = sandbox::FillFor::kStock;
    bool slow = false;
  };

  absl::StatusOr<std::unique_ptr<sandbox::Jail>> MakeJail(
      const JailKey& key, sandbox::FillFor fill_for);
  void FillerLoop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sleeps until there is something to do; nullopt after Stop().
  std::optional<Work> NextWork() ABSL_LOCKS_EXCLUDED(mutex_);
  void Drop(Work work) ABSL_LOCKS_EXCLUDED(mutex_);
  void FillOne(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);

  // nullptr: a miss. `first`: not the replacement of a dead one.
  std::unique_ptr<sandbox::Jail> TakeNewest(const JailKey& key, bool first)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Entry& Learn(const JailKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The newest of those that wait. There is one.
  std::unique_ptr<sandbox::Jail> PopNewest(Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Marks idle jails, counted from the oldest, for a filler to drop.
  void Condemn(Entry& entry, size_t first, size_t count)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<uint32_t> Targets(MonotonicTime now) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Retarget(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Condemns what is over its target or dead and forgets keys out of use.
  void Review(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckHealth(Entry& entry, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether one more jail of this key is wanted and has room.
  bool Wants(const Entry& entry) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // When the calm after the last Take ends; a past time: it has.
  MonotonicTime CalmUntil() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // When a filler may make a jail of this key; a past time: now.
  MonotonicTime FillableAt(const Entry& entry) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool Fillable(const Entry& entry, MonotonicTime now) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return Wants(entry) && FillableAt(entry) <= now;
  }
  // Whether jails go faster than they are made whole: then it's better to have
  // one sooner than to have it rehearsed.
  static bool Pressed(const Entry& entry, MonotonicTime now) {
    constexpr absl::Duration kJustNow = absl::Milliseconds(50);
    return 2 * entry.idle.size() < entry.target &&
           entry.UnusedFor(now) < kJustNow;
  }
  // The emptiest of the keys that may be filled now; of slow kinds, those that
  // are always kept come first.
  Entries::iterator PickFill(MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When something is to be done although nobody wakes us.
  MonotonicTime NextLook(MonotonicTime now) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Wakes a filler if there is anything for it that it doesn't know of.
  void WakeIfWanted(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  FillNews NoteFill(Entry& entry, const absl::Status& status,
                    MonotonicTime began, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PoolOptions options_;
  const FillFunction fill_;
  const HealthFunction healthy_;
  const absl::Duration settle_;  // an excess older than this is dropped
  std::vector<std::thread> threads_;

  mutable absl::Mutex mutex_;
  absl::CondVar wake_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<JailKey> once_used_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_serial_ ABSL_GUARDED_BY(mutex_) = 1;
  std::vector<std::unique_ptr<sandbox::Jail>> condemned_
      ABSL_GUARDED_BY(mutex_);
  uint64_t condemned_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Idle, in the making, condemned and being dropped.
  uint32_t jails_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t callers_filling_ ABSL_GUARDED_BY(mutex_) = 0;
  // When they began to hold the fillers back.
  MonotonicTime held_since_ ABSL_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> last_take_ ABSL_GUARDED_BY(mutex_);
  // Fillers that sleep only until it is calm: Take need not wake another.
  uint32_t watching_ ABSL_GUARDED_BY(mutex_) = 0;
  // A filler makes a jail of a slow kind. Since when none was made and runs
  // came without a calm moment.
  bool filling_slow_ ABSL_GUARDED_BY(mutex_) = false;
  MonotonicTime busy_since_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_JAIL_POOL_H_
