// How many jails wait, of which keys.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pool_support.h"
#include "server/pool/jail_pool.h"

namespace sandglass::server {
namespace {

using sandbox::Jail;

TEST(JailPoolStock, LearnsAKeyFromItsUseAndForgetsIt) {
  PoolOptions options = Options();
  options.idle_age = absl::Milliseconds(1500);
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  EXPECT_EQ(pool.Acquire(Key("python-lean"), {}), nullptr);
  ASSERT_TRUE(Eventually([&] { return jails.made() >= 4; }));
  EXPECT_TRUE(Eventually([&] { return pool.State().size() == 1; }));
  EXPECT_TRUE(Eventually([&] { return jails.dropped() >= 2; }));
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  EXPECT_EQ(jails.made() - jails.dropped(), 2u);
}

TEST(JailPoolStock, GrowsWithABurstAndShrinksToTheFloor) {
  PoolOptions options = Options();
  options.idle_age = absl::Seconds(2);
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  StartSlowly(pool, jails, 2);
  // Nothing is made meanwhile, so the burst is one.
  jails.Block(true);
  for (int i = 0; i < 6; ++i) pool.Acquire(Key("exec"), {});
  EXPECT_EQ(StateOf(pool, Key("exec")).misses, 4u);
  EXPECT_EQ(StateOf(pool, Key("exec")).target, 6u);
  jails.Block(false);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 6));
  jails.Block(true);
  for (int i = 0; i < 6; ++i) EXPECT_NE(pool.Acquire(Key("exec"), {}), nullptr);
  jails.Block(false);
  EXPECT_EQ(StateOf(pool, Key("exec")).misses, 4u);
  EXPECT_TRUE(Eventually([&] {
    const auto state = StateOf(pool, Key("exec"));
    return state.idle == 2 && state.target == 2;
  }));
}

TEST(JailPoolStock, AMissOfAStockThatWasFullDoublesIt) {
  PoolOptions options = Options();
  options.calm = absl::InfiniteDuration();  // fills only below the half
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  jails.Block(true);
  // Slower than a burst, faster than the fillers.
  for (int i = 0; i < 3; ++i) {
    pool.Acquire(Key("exec"), {});
    absl::SleepFor(absl::Milliseconds(150));
  }
  EXPECT_EQ(StateOf(pool, Key("exec")).misses, 1u);
  EXPECT_EQ(StateOf(pool, Key("exec")).target, 4u);
  // Further misses say only that there was no time to fill.
  EXPECT_EQ(pool.Acquire(Key("exec"), {}), nullptr);
  EXPECT_EQ(StateOf(pool, Key("exec")).target, 4u);
  jails.Block(false);
}

TEST(JailPoolStock, TheNewestIsTakenAndTheOldestGoWhenThereAreTooMany) {
  PoolOptions options = Options();
  options.floor = 1;
  options.fillers = 1;
  options.idle_age = absl::Seconds(2);
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  StartSlowly(pool, jails, 1);
  jails.Block(true);
  for (int i = 0; i < 4; ++i) pool.Acquire(Key("exec"), {});
  jails.Block(false);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 4));
  const auto newest = pool.Acquire(Key("exec"), {});
  ASSERT_NE(newest, nullptr);
  EXPECT_EQ(newest->id(), 5u);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 1));
  const auto left = pool.Acquire(Key("exec"), {});
  ASSERT_NE(left, nullptr);
  EXPECT_GE(left->id(), 4u);  // the second and the third were older
}

TEST(JailPoolStock, WithoutAFloorThePoolIsOff) {
  PoolOptions options = Options();
  options.floor = 0;
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  EXPECT_EQ(pool.Acquire(Key("exec"), {}), nullptr);
  EXPECT_TRUE(pool.State().empty());
  const auto made = pool.Fill(Key("exec"));
  ASSERT_TRUE(made.ok());
  EXPECT_NE(*made, nullptr);
  EXPECT_EQ(jails.made(), 1u);
}

TEST(JailPoolStock, ABudgetBelowTheFloorsIsFilledAndNoMore) {
  PoolOptions options = Options();
  options.floor = 4;
  options.memory_budget_bytes = 5 * kMiB;
  options.always = {Key("exec"), Key("python-lean")};
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  ::testing::internal::CaptureStderr();
  pool.Start();
  EXPECT_TRUE(Eventually([&] { return jails.made() == 5; }));
  EXPECT_EQ(pool.Acquire(Key("other"), {}), nullptr);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(jails.made(), 5u);
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 3));
  EXPECT_TRUE(BecomesIdle(pool, Key("python-lean"), 2));
  pool.Stop();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ::testing::ContainsRegex(
                       "pool_below_floor jails_wanted=8 jails_kept=5"));
  EXPECT_EQ(log.find("pool_below_floor"), log.rfind("pool_below_floor"));
}

TEST(JailPoolStock, AKeyGetsRoomOnlyWhenAnotherHasLeftIt) {
  PoolOptions options = Options();
  options.floor = 1;
  options.ceiling = 4;
  options.memory_budget_bytes = 4 * kMiB;
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  StartSlowly(pool, jails, 1);
  jails.Block(true);
  std::vector<std::unique_ptr<Jail>> taken(4);
  for (std::unique_ptr<Jail>& jail : taken)
    jail = pool.Acquire(Key("exec"), {});
  jails.Block(false);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 4));
  const uint64_t handed = StateOf(pool, Key("exec")).hits;
  EXPECT_EQ(pool.Acquire(Key("python-lean"), {}), nullptr);
  EXPECT_EQ(StateOf(pool, Key("exec")).target, 3u);
  EXPECT_TRUE(Eventually([&] {
    const uint64_t made = jails.made();  // first: what is dropped only grows
    EXPECT_LE(made - jails.dropped(), handed + 4);
    return StateOf(pool, Key("python-lean")).idle == 1;
  }));
  EXPECT_EQ(jails.dropped(), 1u);
}

TEST(JailPoolStock, KeysUsedByTurnsDoNotDriveEachOtherOut) {
  PoolOptions options = Options();
  options.memory_budget_bytes = 5 * kMiB;
  options.always = {Key("a"), Key("b")};
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("b"), 2));
  // Each wants more than its floor, and the odd jail is the last user's.
  std::vector<std::unique_ptr<Jail>> taken;
  for (int i = 0; i < 50; ++i) {
    for (const char* kind : {"a", "b"}) {
      taken.push_back(pool.Acquire(Key(kind), {}));
      absl::SleepFor(absl::Milliseconds(4));
    }
  }
  EXPECT_EQ(jails.dropped(), 0u);
  pool.Stop();
}

TEST(JailPoolStock, MostIdleHoldsForAllKeysTogether) {
  PoolOptions options = Options();
  options.max_idle = 3;
  options.always = {Key("a"), Key("b"), Key("c")};
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  EXPECT_TRUE(Eventually([&] { return jails.made() == 3; }));
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(jails.made(), 3u);
}

TEST(JailPoolStock, ACallerWhoVariesLimitsFillsNoMoreThanABoundedStock) {
  Jails jails;
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  for (uint64_t i = 0; i < 3 * JailPool::kMaxLearnt; ++i) {
    EXPECT_EQ(pool.Acquire(Key("exec", (100 + i) * kMiB), {}), nullptr);
    EXPECT_LE(pool.State().size(), JailPool::kMaxLearnt + 1);
    absl::SleepFor(absl::Milliseconds(5));  // so that some are made
  }
  // The last ones are those that are kept, and what is always kept.
  EXPECT_EQ(pool.State().size(), JailPool::kMaxLearnt + 1);
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  for (uint64_t i = 2 * JailPool::kMaxLearnt; i < 3 * JailPool::kMaxLearnt;
       ++i) {
    EXPECT_TRUE(BecomesIdle(pool, Key("exec", (100 + i) * kMiB), 2));
  }
  EXPECT_TRUE(Eventually([&] {
    return jails.made() - jails.dropped() == 2 * (JailPool::kMaxLearnt + 1);
  }));
}

TEST(JailPoolStock, AKeyIsKeptFromWhenItIsSaid) {
  PoolOptions options = Options();
  options.always = {};
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  EXPECT_TRUE(pool.State().empty());
  pool.Keep(Key("node"));
  EXPECT_TRUE(BecomesIdle(pool, Key("node"), 2));
}

TEST(JailPoolStock, AKeyMayBeKeptFromItsFirstUseOn) {
  PoolOptions options = Options();
  options.idle_age = absl::Milliseconds(100);
  options.once_used = {Key("java")};
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  EXPECT_EQ(StateOf(pool, Key("java")).idle, 0u);
  EXPECT_EQ(pool.Acquire(Key("java"), {}), nullptr);
  EXPECT_EQ(pool.Acquire(Key("java", kMiB), {}), nullptr);
  EXPECT_TRUE(BecomesIdle(pool, Key("java"), 2));
  EXPECT_TRUE(
      Eventually([&] { return pool.State().size() == 2; }));  // not the other
  EXPECT_EQ(StateOf(pool, Key("java")).idle, 2u);
}

TEST(JailPoolStock, OneSlowKindIsFilledAtATimeAndOthersGoOn) {
  PoolOptions options = Options();
  options.kinds = AllKinds({.idle_bytes = kMiB, .floor = 1, .slow = true});
  options.kinds["exec"].slow = false;
  options.always = {Key("node"), Key("java")};
  absl::Notification go;
  std::atomic<int> slow_now = 0;
  std::atomic<int> max = 0;
  Jails jails;
  JailPool pool(
      options,
      [&](const JailKey& key, sandbox::FillFor) {
        if (key.kind != "exec") {
          max = std::max<int>(max, ++slow_now);
          go.WaitForNotification();
          --slow_now;
        }
        return jails.Make(key);
      },
      jails.healthy());
  pool.Start();
  ASSERT_TRUE(Eventually([&] { return slow_now == 1; }));
  pool.Keep(Key("exec"));
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 1));
  EXPECT_EQ(max, 1);
  go.Notify();
  EXPECT_TRUE(BecomesIdle(pool, Key("node"), 1));
  EXPECT_TRUE(BecomesIdle(pool, Key("java"), 1));
  EXPECT_EQ(max, 1);
}

TEST(JailPoolStock, OfSlowKindsThoseThatAreAlwaysKeptComeFirst) {
  PoolOptions options = Options();
  options.kinds = AllKinds({.idle_bytes = kMiB, .floor = 2, .slow = true});
  options.floor = 2;
  options.always = {Key("node")};
  absl::Mutex mutex;
  std::vector<JailKey> filled;
  Jails jails;
  JailPool pool(
      options,
      [&](const JailKey& key, sandbox::FillFor) {
        absl::MutexLock lock(&mutex);
        filled.push_back(key);
        return jails.Make(key);
      },
      jails.healthy());
  // Used last, and as empty.
  EXPECT_EQ(pool.Acquire(Key("node", kMiB), {}), nullptr);
  EXPECT_EQ(pool.Acquire(Key("java", kMiB), {}), nullptr);
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("node", kMiB), 2));
  ASSERT_TRUE(BecomesIdle(pool, Key("java", kMiB), 2));
  absl::MutexLock lock(&mutex);
  ASSERT_GE(filled.size(), 6U);
  EXPECT_EQ(filled[0], Key("node"));
  EXPECT_EQ(filled[1], Key("node"));
}

TEST(JailPoolStock, SlowKindsWaitForACalmMoment) {
  PoolOptions options = Options();
  options.kinds = AllKinds({.idle_bytes = kMiB, .floor = 1, .slow = true});
  options.kinds["exec"].slow = false;
  options.slow_calm = absl::Milliseconds(200);
  options.longest_hold = absl::Seconds(30);
  options.once_used = {Key("node")};
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  // The pool counts from within Take, which may return late.
  const MonotonicTime taken = Now();
  EXPECT_EQ(pool.Acquire(Key("node"), {}), nullptr);
  ASSERT_TRUE(BecomesIdle(pool, Key("node"), 1));
  EXPECT_GE(Since(taken), absl::Milliseconds(199));
}

TEST(JailPoolStock, IdleJailsGoWhereMemoryRunsOut) {
  PoolOptions options = Options();
  options.floor = 8;
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 8));
  // Each of them counts for one MiB.
  pool.SetSpareMemory(-3 * int64_t{kMiB} + 1);
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 5));
  EXPECT_EQ(jails.dropped(), 3U);
  // What is taken is made again, but there are no more.
  pool.SetSpareMemory(0);
  const uint64_t made = jails.made();
  EXPECT_NE(pool.Acquire(Key("exec"), {}), nullptr);
  EXPECT_TRUE(Eventually([&] { return jails.made() > made; }));
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 5));
  // More than there are, and as much as can be said.
  pool.SetSpareMemory(-100 * int64_t{kMiB});
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 0));
  pool.SetSpareMemory(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(pool.Acquire(Key("exec"), {}), nullptr);
  EXPECT_EQ(StateOf(pool, Key("exec")).target, 0U);
  // A run that finds none still gets one.
  EXPECT_TRUE(pool.Fill(Key("exec")).ok());
  pool.SetSpareMemory(2 * int64_t{kMiB});
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  pool.SetSpareMemory(std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 8));
}

TEST(JailPoolStock, MemoryThatIsThereIsNoMoreThanTheBudget) {
  PoolOptions options = Options();
  options.floor = 8;
  options.memory_budget_bytes = 4 * kMiB;
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.SetSpareMemory(100 * int64_t{kMiB});
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 4));
  pool.SetSpareMemory(100 * int64_t{kMiB});
  EXPECT_EQ(StateOf(pool, Key("exec")).target, 4U);
}

JailKey Under(const std::string& profile, const std::string& kind) {
  JailKey key = Key(kind);
  key.profile = profile;
  return key;
}

TEST(JailPoolStock, AnotherPolicyHasJailsOfItsOwn) {
  PoolOptions options = Options();
  options.always = {Under("old@1", "exec"), Under("same@1", "exec")};
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Under("old@1", "exec"), options.floor));
  ASSERT_TRUE(BecomesIdle(pool, Under("same@1", "exec"), options.floor));
  EXPECT_EQ(pool.Acquire(Under("old@1", "node"), {}), nullptr);
  ASSERT_TRUE(BecomesIdle(pool, Under("old@1", "node"), options.floor));

  pool.Renew({Under("new@2", "exec"), Under("same@1", "exec")}, {},
             [](const JailKey& key) { return key.profile != "old@1"; });
  ASSERT_TRUE(BecomesIdle(pool, Under("new@2", "exec"), options.floor));
  // Those that can still be used were not made anew.
  EXPECT_EQ(StateOf(pool, Under("same@1", "exec")).filled, options.floor);
  ASSERT_TRUE(Eventually([&] { return jails.dropped() == 2 * options.floor; }));
  for (const PoolKeyState& state : pool.State()) {
    EXPECT_NE(state.key.profile, "old@1") << state.key.kind;
  }
  // A run that was on its way learns it once more.
  EXPECT_EQ(pool.Acquire(Under("old@1", "exec"), {}), nullptr);
}

}  // namespace
}  // namespace sandglass::server
