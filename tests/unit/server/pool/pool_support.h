// What the tests of the pool share: jails without a sandbox, and a small pool.
#ifndef SANDGLASS_TESTS_UNIT_SERVER_POOL_POOL_SUPPORT_H_
#define SANDGLASS_TESTS_UNIT_SERVER_POOL_POOL_SUPPORT_H_

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "server/pool/jail_pool.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
inline constexpr uint64_t kMiB = uint64_t{1} << 20;

inline JailKey Key(const std::string& kind, uint64_t memory_bytes = 64 * kMiB) {
  JailKey key{.kind = kind, .profile = "default", .limits = {}};
  key.limits.memory_bytes = memory_bytes;
  return key;
}

// Makes jails of descriptors alone, and knows which of them were dropped: a
// jail's end writes one byte into what it takes for its kill switch.
class Jails {
 public:
  Jails() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    drops_.reset(ends[0]);
    kill_.reset(ends[1]);
  }

  FillFunction fill() {
    return [this](const JailKey& key, sandbox::FillFor fill_for)
               ABSL_LOCKS_EXCLUDED(mutex_) {
                 {
                   absl::MutexLock lock(&mutex_);
                   if (fill_for == sandbox::FillFor::kRun) ++hasty_;
                 }
                 return Make(key);
               };
  }
  HealthFunction healthy() {
    return [this](sandbox::Jail& jail) ABSL_LOCKS_EXCLUDED(mutex_) {
      absl::MutexLock lock(&mutex_);
      return dead_.count(jail.id()) == 0;
    };
  }

  absl::StatusOr<std::unique_ptr<sandbox::Jail>> Make(const JailKey&)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++calls_;
    const auto open = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return !blocked_;
    };
    mutex_.Await(absl::Condition(&open));
    if (!failure_.ok()) return failure_;
    return std::make_unique<sandbox::Jail>(sandbox::Jail::Parts{
        .id = ++made_, .kill_jail = os::Fd(::dup(kill_.get()))});
  }

  // Fills wait from now on, or go on.
  void Block(bool block) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    blocked_ = block;
  }
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    failure_ = std::move(status);
  }
  // Those that were made so far.
  void KillAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (uint64_t id = 1; id <= made_; ++id) dead_.insert(id);
  }
  uint64_t calls() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }
  // Fills that were to be quick rather than whole.
  uint64_t hasty() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return hasty_;
  }
  uint64_t made() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return made_;
  }
  uint64_t dropped() const {
    int bytes = 0;
    EXPECT_EQ(::ioctl(drops_.get(), FIONREAD, &bytes), 0);
    return static_cast<uint64_t>(bytes);
  }

 private:
  os::Fd drops_, kill_;
  mutable absl::Mutex mutex_;
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> dead_ ABSL_GUARDED_BY(mutex_);
  uint64_t hasty_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
};

// For each kind that a test names.
inline std::map<std::string, KindOptions> AllKinds(const KindOptions& options) {
  std::map<std::string, KindOptions> kinds;
  for (const char* kind : {"a", "b", "c", "exec", "hangs", "java", "node",
                           "other", "python-lean"}) {
    kinds[kind] = options;
  }
  return kinds;
}

inline PoolOptions Options() {
  PoolOptions options;
  options.floor = 2;
  options.ceiling = 8;
  options.max_idle = 64;
  options.memory_budget_bytes = 1000 * kMiB;
  options.idle_age = absl::Seconds(60);
  options.kinds = AllKinds({.idle_bytes = kMiB});
  options.fillers = 2;
  options.always = {Key("exec")};
  return options;
}

inline PoolKeyState StateOf(const JailPool& pool, const JailKey& key) {
  for (PoolKeyState& state : pool.State()) {
    if (state.key == key) return state;
  }
  return {};
}

inline bool BecomesIdle(const JailPool& pool, const JailKey& key,
                        uint32_t count) {
  return Eventually([&] { return StateOf(pool, key).idle == count; });
}

// Starts the pool with fills that last a second. Takes within the next second
// are then one burst, however slow the machine.
inline void StartSlowly(JailPool& pool, Jails& jails, uint32_t idle) {
  jails.Block(true);
  pool.Start();
  absl::SleepFor(absl::Seconds(1));
  jails.Block(false);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), idle));
}

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_POOL_POOL_SUPPORT_H_
