#include "server/pool/jail_pool.h"

#include <atomic>
#include <set>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pool_support.h"
#include "sandbox/yard/spawner_event.h"

namespace sandglass::server {
namespace {

using sandbox::Jail;

TEST(JailPool, HandsOutWhatWasMadeAheadAndReplacesIt) {
  Jails jails;
  JailPool pool(Options(), jails.fill(), jails.healthy());
  EXPECT_EQ(pool.Acquire(Key("exec"), {}), nullptr);  // not started
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  const auto first = pool.Acquire(Key("exec"), {});
  const auto second = pool.Acquire(Key("exec"), {});
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first->id(), second->id());
  EXPECT_TRUE(Eventually([&] {
    const auto state = StateOf(pool, Key("exec"));
    return state.idle == state.target;
  }));
  const auto state = StateOf(pool, Key("exec"));
  EXPECT_EQ(state.hits, 2u);
  EXPECT_EQ(state.misses, 1u);
  EXPECT_EQ(state.filled, jails.made());
  EXPECT_EQ(state.fill_failures, 0u);
  EXPECT_GE(state.mean_fill, absl::ZeroDuration());
  EXPECT_EQ(jails.dropped(), 0u);
}

TEST(JailPool, ATrialTakesWhatWaitsAndTeachesNothing) {
  Jails jails;
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  EXPECT_EQ(pool.AcquireForTrial(Key("other")), nullptr);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  EXPECT_EQ(pool.State().size(), 1u);
  EXPECT_NE(pool.AcquireForTrial(Key("exec")), nullptr);
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  const auto state = StateOf(pool, Key("exec"));
  EXPECT_EQ(state.filled, 3u);
  EXPECT_EQ(state.hits + state.misses, 0u);
  jails.KillAll();
  EXPECT_EQ(pool.AcquireForTrial(Key("exec")), nullptr);
}

TEST(JailPool, AKeyIsNotServedWithAJailOfAnother) {
  Jails jails;
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  EXPECT_EQ(pool.Acquire(Key("exec", 65 * kMiB), {}), nullptr);
  EXPECT_EQ(pool.Acquire(Key("python-lean"), {}), nullptr);
}

TEST(JailPool, AFailingFillBacksOffAndIsLoggedOncePerChange) {
  Jails jails;
  jails.Fail(absl::InternalError("no yard"));
  ::testing::internal::CaptureStderr();
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(Eventually(
      [&] { return StateOf(pool, Key("exec")).fill_failures != 0; }));
  // Without back-off there would be thousands. Two fillers may have begun
  // together, and a second has its retry.
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_LE(jails.calls(), 5u);
  // A caller's own fill shows that it works again; no filler waits longer.
  EXPECT_FALSE(pool.Fill(Key("exec")).ok());
  jails.Fail(absl::OkStatus());
  EXPECT_TRUE(pool.Fill(Key("exec")).ok());
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  EXPECT_GE(StateOf(pool, Key("exec")).fill_failures, 2u);
  pool.Stop();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ::testing::HasSubstr("no yard"));
  EXPECT_EQ(log.find("pool_fill_failed"), log.rfind("pool_fill_failed"));
  EXPECT_THAT(log, ::testing::HasSubstr("pool_fill_works_again"));
}

TEST(JailPool, AZygoteThatStartsIsNoFailure) {
  Jails jails;
  jails.Fail(sandbox::ZygoteStarting());
  ::testing::internal::CaptureStderr();
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(Eventually([&] { return jails.calls() >= 2; }));
  EXPECT_EQ(StateOf(pool, Key("exec")).fill_failures, 0u);
  jails.Fail(absl::OkStatus());
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  pool.Stop();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::Not(::testing::HasSubstr("pool_fill_")));
}

TEST(JailPool, AFailingFillIsTriedAgain) {
  Jails jails;
  jails.Fail(absl::InternalError("no yard"));
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(Eventually(
      [&] { return StateOf(pool, Key("exec")).fill_failures != 0; }));
  jails.Fail(absl::OkStatus());
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
}

TEST(JailPool, AFillThatMakesNothingIsAFailure) {
  JailPool pool(
      Options(),
      [](const JailKey&, sandbox::FillFor) { return std::unique_ptr<Jail>(); },
      [](Jail&) { return true; });
  pool.Start();
  EXPECT_EQ(pool.Fill(Key("exec")).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(pool.Acquire(Key("exec"), {}), nullptr);
}

TEST(JailPool, TheDeadAreNeitherHandedOutNorKept) {
  Jails jails;
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  jails.KillAll();
  const std::unique_ptr<Jail> taken = pool.Acquire(Key("exec"), {});
  // A filler may have been quick.
  EXPECT_TRUE(taken == nullptr || taken->id() > 2u);
  EXPECT_TRUE(Eventually([&] { return jails.dropped() == 2; }));
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  const auto state = StateOf(pool, Key("exec"));
  EXPECT_EQ(state.died_idle, 2u);
  EXPECT_EQ(state.hits + state.misses, 1u);
}

TEST(JailPool, TheDeadAreReplacedBeforeARunComes) {
  PoolOptions options = Options();
  options.check_every = absl::Milliseconds(20);
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  jails.KillAll();
  EXPECT_TRUE(Eventually([&] {
    const auto state = StateOf(pool, Key("exec"));
    return state.died_idle == 2 && state.idle == 2;
  }));
  EXPECT_TRUE(Eventually([&] { return jails.dropped() == 2; }));
  EXPECT_NE(pool.Acquire(Key("exec"), {}), nullptr);
}

TEST(JailPool, FillersHoldBackWhileACallerFills) {
  PoolOptions options = Options();
  options.longest_hold = absl::InfiniteDuration();
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  jails.Block(true);
  std::thread caller([&] { EXPECT_TRUE(pool.Fill(Key("other")).ok()); });
  ASSERT_TRUE(Eventually([&] { return jails.calls() == 1; }));
  pool.Start();
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(jails.calls(), 1u);
  jails.Block(false);
  caller.join();
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
}

TEST(JailPool, ACallerWhoseFillHangsDoesNotStopRefillForGood) {
  PoolOptions options = Options();
  options.longest_hold = absl::Milliseconds(50);
  Jails jails;
  std::atomic<bool> hang{true};
  std::atomic<bool> inside{false};
  JailPool pool(
      options,
      [&](const JailKey& key, sandbox::FillFor) {
        while (key == Key("hangs") && hang) {
          inside = true;
          absl::SleepFor(absl::Milliseconds(1));
        }
        return jails.Make(key);
      },
      jails.healthy());
  std::thread caller([&] { EXPECT_TRUE(pool.Fill(Key("hangs")).ok()); });
  ASSERT_TRUE(Eventually([&] { return inside.load(); }));
  pool.Start();
  EXPECT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  hang = false;
  caller.join();
}

TEST(JailPool, AfterATakeTheFillersWaitWhileHalfIsLeft) {
  PoolOptions options = Options();
  options.floor = 4;
  options.calm = absl::InfiniteDuration();
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 4));
  std::vector<std::unique_ptr<Jail>> taken;
  taken.push_back(pool.Acquire(Key("exec"), {}));
  taken.push_back(pool.Acquire(Key("exec"), {}));
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(jails.made(), 4u);
  // Below the half it can't wait.
  taken.push_back(pool.Acquire(Key("exec"), {}));
  EXPECT_TRUE(Eventually([&] { return jails.made() > 4; }));
}

TEST(JailPool, JailsThatGoFasterThanTheyAreMadeAreNotRehearsed) {
  Jails jails;
  PoolOptions options = Options();
  options.floor = 4;
  options.ceiling = 4;
  options.calm = absl::ZeroDuration();
  options.fillers = 1;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 4));
  EXPECT_EQ(jails.hasty(), 0u);
  // Most are left: there is time.
  ASSERT_NE(pool.Acquire(Key("exec"), {}), nullptr);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 4));
  EXPECT_EQ(jails.hasty(), 0u);
  jails.Block(true);
  for (int i = 0; i < 4; ++i) ASSERT_NE(pool.Acquire(Key("exec"), {}), nullptr);
  jails.Block(false);
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 4));
  EXPECT_GE(jails.hasty(), 1u);
  // Those that fill the second half are whole again.
  EXPECT_LE(jails.hasty(), 3u);
}

TEST(JailPool, StopWaitsForAFillAndDropsWhatItMade) {
  Jails jails;
  jails.Block(true);
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(Eventually([&] { return jails.calls() == 2; }));
  std::atomic<bool> stopped{false};
  std::thread stopper([&] {
    pool.Stop();
    stopped = true;
  });
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_FALSE(stopped);
  jails.Block(false);
  stopper.join();
  EXPECT_EQ(jails.made(), 2u);
  EXPECT_EQ(jails.dropped(), 2u);
  EXPECT_EQ(pool.Acquire(Key("exec"), {}), nullptr);
}

TEST(JailPool, StopDropsIdleJailsButNotThoseHandedOut) {
  Jails jails;
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  const auto taken = pool.Acquire(Key("exec"), {});
  pool.Stop();
  pool.Stop();
  EXPECT_EQ(jails.dropped(), jails.made() - 1);
  EXPECT_EQ(StateOf(pool, Key("exec")).idle, 0u);
}

TEST(JailPool, NoJailIsGivenTwice) {
  constexpr int kThreads = 8;
  constexpr int kTakes = 200;
  PoolOptions options = Options();
  options.always.push_back(Key("python-lean"));
  Jails jails;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  ASSERT_TRUE(BecomesIdle(pool, Key("exec"), 2));
  absl::Mutex mutex;
  std::set<uint64_t> ids;
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> misses{0};
  std::vector<std::thread> callers;
  callers.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < kTakes; ++i) {
        const JailKey key = Key((t + i) % 2 == 0 ? "exec" : "python-lean");
        std::unique_ptr<Jail> jail = pool.Acquire(key, {});
        ++(jail == nullptr ? misses : hits);
        if (jail == nullptr) {
          auto made = pool.Fill(key);
          ASSERT_TRUE(made.ok());
          jail = *std::move(made);
        }
        absl::MutexLock lock(&mutex);
        EXPECT_TRUE(ids.insert(jail->id()).second);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_GE(hits, 1u);
  EXPECT_EQ(ids.size(), static_cast<size_t>(kThreads * kTakes));
  uint64_t hits_seen = 0;
  uint64_t misses_seen = 0;
  for (const auto& state : pool.State()) {
    hits_seen += state.hits;
    misses_seen += state.misses;
  }
  EXPECT_EQ(hits_seen, hits);
  EXPECT_EQ(misses_seen, misses);
  pool.Stop();
  // Every jail there was has gone, and once.
  EXPECT_EQ(jails.dropped(), jails.made());
}

TEST(JailPool, ATenantWithRunsGoingOnLeavesOthersTheLastJails) {
  Jails jails;
  PoolOptions options = Options();
  options.floor = options.ceiling = 4;
  JailPool pool(options, jails.fill(), jails.healthy());
  pool.Start();
  const JailKey key = Key("exec");
  ASSERT_TRUE(BecomesIdle(pool, key, 4));
  jails.Block(true);
  // Alone it may have them all.
  std::vector<std::unique_ptr<Jail>> taken;
  for (int i = 0; i < 4; ++i) {
    taken.push_back(pool.Acquire(key, {.tenant = "a", .is_first = i == 0}));
    EXPECT_NE(taken.back(), nullptr) << i;
  }
  jails.Block(false);
  ASSERT_TRUE(BecomesIdle(pool, key, 4));
  taken.push_back(pool.Acquire(key, {.tenant = "b", .is_first = true}));
  ASSERT_TRUE(BecomesIdle(pool, key, 4));
  // From now on somebody else counts on the last one.
  jails.Block(true);
  for (int i = 0; i < 3; ++i) {
    taken.push_back(pool.Acquire(key, {.tenant = "a", .is_first = false}));
    EXPECT_NE(taken.back(), nullptr) << i;
  }
  EXPECT_EQ(pool.Acquire(key, {.tenant = "a", .is_first = false}), nullptr);
  EXPECT_EQ(StateOf(pool, key).idle, 1u);
  EXPECT_NE(pool.Acquire(key, {.tenant = "b", .is_first = true}), nullptr);
  jails.Block(false);
  pool.Stop();
}

TEST(JailPool, ATenantWithManyKeysPushesOutItsOwn) {
  Jails jails;
  JailPool pool(Options(), jails.fill(), jails.healthy());
  pool.Start();
  const auto key_of = [](uint64_t number) {
    return Key("exec", (100 + number) * kMiB);
  };
  pool.Acquire(key_of(0), {.tenant = "light"});
  for (uint64_t i = 1; i < 100; ++i) {
    pool.Acquire(key_of(i), {.tenant = "heavy"});
  }
  const std::vector<PoolKeyState> states = pool.State();
  EXPECT_EQ(std::ranges::count(states, key_of(0),
                               [](const auto& state) { return state.key; }),
            1);
  EXPECT_LE(states.size(), JailPool::kMaxLearnt + Options().always.size());
  pool.Stop();
}

}  // namespace
}  // namespace sandglass::server
