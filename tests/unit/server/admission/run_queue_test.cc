// Who is next, by a clock that the test sets: minutes of a busy daemon take
// milliseconds here.
#include "server/admission/run_queue.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/admission/queue_simulation.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr MonotonicTime kStart = MonotonicTime();

RunQueueOptions Options(uint64_t slots, uint64_t reserve) {
  return {.slots = {.max = slots, .reserve = reserve},
          .memory_bytes = 1000 * kMiB,
          .memory_reserve_bytes = 125 * kMiB,
          .waiting = {.max = 256, .reserve = 64, .max_per_caller = 128},
          .waiting_bytes = {.max = 750, .reserve = 250}};
}

// One that takes a second, of a caller of the tenant "local".
RunQueue::Waiting Waiting(const RunPtr& run, const std::string& caller,
                          uint64_t mib = 1,
                          MonotonicTime until = MonotonicTime()) {
  return {.run = run,
          .tenant = "local",
          .caller = caller,
          .size = {.memory_bytes = mib * kMiB},
          .request_bytes = 10,
          .until = until};
}

TEST(RunQueue, CallersTakeTurns) {
  Simulation daemon(Options(1, 0));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(daemon.Add("a", {}));
  }
  ASSERT_TRUE(daemon.Add("b", {}));
  ASSERT_TRUE(daemon.Add("b", {}));
  ASSERT_TRUE(daemon.Add("c", {}));
  daemon.RunUntil(100);
  // The first of a's was going on when the others came.
  EXPECT_THAT(daemon.starts(), ElementsAre("a", "b", "c", "a", "b", "a", "a"));
}

TEST(RunQueue, WhatIsOverdueIsNotStarted) {
  RunQueue queue(Options(1, 0));
  const MonotonicTime until = MonotonicTime() + std::chrono::seconds(1);
  queue.Add(Waiting(MakeRun(User(1)), "a", 1, until), kStart);
  ASSERT_TRUE(queue.CanStart());
  EXPECT_TRUE(queue.PopOverdue(until - std::chrono::nanoseconds(1)).empty());
  ASSERT_TRUE(queue.CanStart());
  EXPECT_EQ(queue.PopOverdue(until).size(), 1u);
  EXPECT_FALSE(queue.CanStart());
}

TEST(RunQueue, WhoComesAnewStandsBehindThoseThatWait) {
  RunQueue queue(Options(1, 0));
  const MonotonicTime later = MonotonicTime() + std::chrono::seconds(1);
  // Not in the order of their names.
  for (const char* caller : {"c", "a", "b"}) {
    queue.Add(Waiting(MakeRun(User(1)), caller, 1, later), kStart);
  }
  std::vector<std::string> order;
  while (queue.CanStart()) {
    const RunQueue::Started started = queue.Start(kStart);
    order.push_back(started.held.caller);
    queue.End(started.held, kStart);
  }
  EXPECT_THAT(order, ElementsAre("c", "a", "b"));
}

TEST(RunQueue, RunsOfOneCallerStartInTheirOrder) {
  RunQueue queue(Options(1, 0));
  std::vector<RunPtr> runs;
  for (int i = 0; i < 5; ++i) {
    runs.push_back(MakeRun(User(1)));
    queue.Add(Waiting(runs.back(), "a"), kStart);
  }
  for (const RunPtr& run : runs) {
    ASSERT_TRUE(queue.CanStart());
    const RunQueue::Started started = queue.Start(kStart);
    EXPECT_EQ(started.run, run);
    queue.End(started.held, kStart);
  }
}

TEST(RunQueue, WhoGotLeastIsNext) {
  Simulation daemon(Options(3, 0));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(daemon.Add("a", {.seconds = 1.0 + 0.1 * i}));
  }
  // Comes last, and had nothing.
  daemon.At(0.5, [&] {
    ASSERT_TRUE(daemon.Add("b", {.seconds = 10}));
    ASSERT_TRUE(daemon.Add("b", {.seconds = 10}));
  });
  daemon.RunUntil(30);
  // b has one at once; it costs as much as nine of a's.
  EXPECT_THAT(daemon.starts(), ElementsAre("a", "a", "a", "b", "a", "a", "b"));
}

// 120 waiting runs of 0.2 s by one caller, and another's print beside them.
TEST(RunQueue, ManyShortRunsKeepNobodyWaiting) {
  Simulation daemon(Options(4, 2));
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(daemon.Add("first", {.seconds = 0.2}));
  }
  for (int i = 0; i < 20; ++i) {
    daemon.At(0.07 + 0.25 * i,
              [&] { ASSERT_TRUE(daemon.Add("second", {.seconds = 0.05})); });
  }
  daemon.RunUntil(100);
  EXPECT_EQ(daemon.waits("second").size(), 20u);
  EXPECT_THAT(daemon.waits("second"), Each(Lt(0.001)));
  EXPECT_EQ(daemon.waits("first").size(), 120u);
}

// 300 that sleep 29 s: as many as are let in run and wait, and are followed by
// more for ten minutes.
TEST(RunQueue, LongSleepersKeepNobodyWaiting) {
  for (const uint64_t slots : {1, 2, 4, 32}) {
    SCOPED_TRACE(slots);
    Simulation daemon(Options(slots, std::max<uint64_t>(2, slots / 2)));
    std::function<void()> again = [&] {
      if (daemon.now() > 600) return;
      daemon.Add("first", {.seconds = 29, .then = again});
    };
    for (int i = 0; i < 300; ++i) again();
    for (int i = 0; i < 600; ++i) {
      daemon.At(1.0 + i,
                [&] { ASSERT_TRUE(daemon.Add("second", {.seconds = 0.05})); });
    }
    daemon.RunUntil(700);
    EXPECT_EQ(daemon.timeouts("second"), 0);
    EXPECT_EQ(daemon.waits("second").size(), 600u);
    EXPECT_THAT(daemon.waits("second"), Each(Lt(0.001)));
  }
}

// A caller alone has all slots and all memory.
TEST(RunQueue, ACallerAloneHasTheMachine) {
  Simulation daemon(Options(4, 2));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(daemon.Add("a", {.memory_bytes = 250 * kMiB}));
  }
  EXPECT_EQ(daemon.queue().slots().held(), 4u);
  EXPECT_EQ(daemon.queue().memory_bytes(), 1000 * kMiB);
}

// Callers that all want more than there is have the same share of it after a
// while, although one of them came much earlier.
TEST(RunQueue, SharesBecomeEqual) {
  Simulation daemon(Options(8, 4));
  std::map<std::string, std::function<void()>> again;
  std::map<std::string, int> ended;
  for (const std::string caller : {"a", "b", "c", "d"}) {
    again[caller] = [&, caller] {
      if (daemon.now() > 200) ++ended[caller];
      daemon.Add(caller, {.seconds = 2, .then = again[caller]});
    };
  }
  for (int i = 0; i < 60; ++i) again["a"]();
  daemon.At(5, [&] {
    for (const char* caller : {"b", "c", "d"}) {
      for (int i = 0; i < 20; ++i) again[caller]();
    }
  });
  daemon.RunUntil(1200);
  for (const auto& [caller, runs] : ended) {
    // 8 slots, or up to 4 more, for 1,000 s are 4,000 runs or somewhat more.
    EXPECT_GT(runs, 700) << caller;
  }
}

// A run that takes nearly all memory, among callers that keep it full of small
// ones, and among newcomers that never run two at once.
TEST(RunQueue, ALargeRunDoesNotStarve) {
  Simulation daemon(Options(16, 8));
  std::map<std::string, std::function<void()>> again;
  const auto keep_busy = [&](const std::string& caller, uint64_t memory,
                             int runs) {
    again[caller] = [&, caller, memory] {
      if (daemon.now() > 300) return;
      daemon.Add(caller,
                 {.seconds = 1, .memory_bytes = memory, .then = again[caller]});
    };
    for (int i = 0; i < runs; ++i) again[caller]();
  };
  keep_busy("many", 60 * kMiB, 30);
  for (int i = 0; i < 6; ++i) {
    keep_busy("one at a time " + std::to_string(i), 40 * kMiB, 1);
  }
  for (int i = 0; i < 20; ++i) {
    daemon.At(10 + 10.5 * i, [&] {
      ASSERT_TRUE(daemon.Add("large", {.memory_bytes = 990 * kMiB}));
    });
  }
  daemon.RunUntil(400);
  EXPECT_EQ(daemon.timeouts("large"), 0);
  EXPECT_THAT(daemon.waits("large"), Each(Lt(3.0)));
  EXPECT_EQ(daemon.waits("large").size(), 20u);
}

// While it waits for memory, what others do from the reserve goes on.
TEST(RunQueue, ALargeRunKeepsNobodyOut) {
  Simulation daemon(Options(4, 2));
  ASSERT_TRUE(daemon.Add("first", {.seconds = 9, .memory_bytes = 20 * kMiB}));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(
        daemon.Add("first", {.seconds = 9, .memory_bytes = 1000 * kMiB}));
    ASSERT_TRUE(
        daemon.Add("another", {.seconds = 9, .memory_bytes = 1000 * kMiB}));
  }
  for (int i = 0; i < 200; ++i) {
    daemon.At(0.1 + i * 0.1, [&] {
      ASSERT_TRUE(
          daemon.Add("second", {.seconds = 0.01, .memory_bytes = 100 * kMiB}));
    });
  }
  daemon.RunUntil(100);
  EXPECT_EQ(daemon.timeouts("second"), 0);
  EXPECT_THAT(daemon.waits("second"), Each(Lt(0.001)));
}

TEST(RunQueue, TheReserveOfMemoryIsForCallersThatHaveNothingGoingOn) {
  RunQueue queue(Options(16, 8));
  const auto add = [&](const std::string& caller, uint64_t mib) {
    queue.Add(Waiting(MakeRun(User(1)), caller, mib), kStart);
  };
  add("a", 1000);
  const RunQueue::Held first = queue.Start(kStart).held;
  EXPECT_FALSE(first.memory_of_reserve);
  add("a", 1);
  EXPECT_FALSE(queue.CanStart());
  add("b", 100);
  ASSERT_TRUE(queue.CanStart());
  const RunQueue::Held other = queue.Start(kStart).held;
  EXPECT_EQ(other.caller, "b");
  EXPECT_TRUE(other.memory_of_reserve);
  add("b", 1);
  EXPECT_FALSE(queue.CanStart());
  add("c", 26);
  EXPECT_FALSE(queue.CanStart()) << "only 25 MiB are left";
  queue.End(other, kStart);
  ASSERT_TRUE(queue.CanStart());
  EXPECT_EQ(queue.Start(kStart).held.caller, "c") << "b had its turn";
  ASSERT_TRUE(queue.CanStart());
  EXPECT_EQ(queue.Start(kStart).held.caller, "b");
  queue.End(first, kStart);
  EXPECT_TRUE(queue.CanStart());
}

TEST(RunQueue, HowLongACallersNextRunWaitsIsKnownOfItsOwnLine) {
  RunQueue queue(Options(2, 0));
  const auto add = [&](const std::string& caller, double seconds, bool sure) {
    RunQueue::Waiting waiting = Waiting(MakeRun(User(1)), caller);
    waiting.seconds = seconds;
    waiting.sure = sure;
    queue.Add(std::move(waiting), kStart);
  };
  const auto wait = [&](const std::string& caller) {
    return queue.ExpectedWait(Waiting(MakeRun(User(1)), caller));
  };
  EXPECT_FALSE(wait("a").has_value());
  for (int i = 0; i < 12; ++i) add("a", 3, true);
  queue.Start(kStart);
  queue.Start(kStart);
  // Ten of 3 s, two at a time.
  ASSERT_TRUE(wait("a").has_value());
  EXPECT_NEAR(absl::ToDoubleSeconds(*wait("a")), 15, 1e-6);
  EXPECT_FALSE(wait("b").has_value()) << "it has nothing waiting";
  add("b", 1, true);
  EXPECT_NEAR(absl::ToDoubleSeconds(*wait("a")), 30, 1e-6);
  EXPECT_NEAR(absl::ToDoubleSeconds(*wait("b")), 1, 1e-6);
  add("a", 3, false);
  EXPECT_FALSE(wait("a").has_value());
}

TEST(RunQueue, ARunThatNobodyWaitsForStartsWhereOthersLeaveRoom) {
  RunQueue queue(Options(1, 0));
  const auto add = [&](const std::string& caller, bool is_batch) {
    RunQueue::Waiting waiting = Waiting(MakeRun(User(1)), caller);
    waiting.is_batch = is_batch;
    queue.Add(std::move(waiting), kStart);
  };
  add("a", true);
  RunQueue::Held going_on = queue.Start(kStart).held;
  EXPECT_TRUE(going_on.is_first);
  // What has started goes on; of what waits, the callers' other runs are first.
  add("a", true);
  add("a", false);
  add("b", false);
  std::vector<std::string> order;
  while (queue.waiting() > 0) {
    queue.End(going_on, kStart);
    going_on = queue.Start(kStart).held;
    order.push_back(going_on.caller);
  }
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[2], "a") << "the batch run is last";
  EXPECT_NE(order[0], order[1]);
}

TEST(RunQueue, WhoLeavesTakesAllThatWasCountedAlong) {
  RunQueue queue(Options(1, 1));
  std::vector<RunPtr> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back(MakeRun(User(1)));
    queue.Add(Waiting(runs.back(), i % 2 == 0 ? "a" : "b", 1,
                      kStart + std::chrono::seconds(i)),
              kStart);
  }
  EXPECT_EQ(queue.waiting_bytes().held_by("a"), 30u);
  EXPECT_TRUE(queue.Remove(runs[2].get()));
  EXPECT_FALSE(queue.Remove(runs[2].get()));
  EXPECT_EQ(queue.waiting_bytes().held_by("a"), 20u);
  EXPECT_EQ(queue.PopOverdue(MonotonicTime() + std::chrono::seconds(1)).size(),
            2u);
  ASSERT_TRUE(queue.next_overdue().has_value());
  EXPECT_EQ(*queue.next_overdue(), MonotonicTime() + std::chrono::seconds(3));
  EXPECT_EQ(queue.Clear().size(), 3u);
  EXPECT_FALSE(queue.CanStart());
  EXPECT_EQ(queue.slots().held(), 0u);
  EXPECT_FALSE(queue.next_overdue().has_value());
  EXPECT_EQ(queue.waiting_bytes().held(), 0u);
  EXPECT_EQ(queue.waiting_shares().held(), 0u);
}

}  // namespace
}  // namespace sandglass::server
