#include "server/pool/pool_targets.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr absl::Duration kWindow = absl::Milliseconds(100);

PoolBounds Options() {
  return {.floor = 2,
          .ceiling = 8,
          .max_idle = 20,
          .memory_budget_bytes = 100 * kMiB,
          .idle_age = absl::Seconds(60)};
}

Demand Used(uint32_t peak, absl::Duration ago = absl::ZeroDuration()) {
  return {.peak = peak, .unused_for = ago, .idle_bytes = kMiB};
}
Demand Always() { return {.always = true, .idle_bytes = kMiB}; }

MonotonicTime At(absl::Duration time) {
  return MonotonicTime(absl::ToChronoNanoseconds(absl::Hours(1) + time));
}

TEST(JailKey, ComparesWhatAJailIsBuiltWith) {
  const JailKey key{"exec", "default", {}};
  const auto with = [&](const auto& change) {
    JailKey other = key;
    change(other);
    return other;
  };
  EXPECT_EQ(key, with([](JailKey& k) { k.limits.wall_time = absl::Hours(1); }));
  EXPECT_EQ(key, with([](JailKey& k) { k.limits.cpu_time = absl::Hours(1); }));
  EXPECT_EQ(key, with([](JailKey& k) { k.limits.output_bytes = 1; }));
  EXPECT_EQ(key, with([](JailKey& k) { k.limits.output_total_bytes = 1; }));
  EXPECT_EQ(key, with([](JailKey& k) { k.limits.open_files = 1; }));
  EXPECT_EQ(key, with([](JailKey& k) { k.limits.file_size_bytes = 1; }));
  EXPECT_NE(key, with([](JailKey& k) { k.kind = "python-lean"; }));
  EXPECT_NE(key, with([](JailKey& k) { k.profile = "other"; }));
  EXPECT_NE(key, with([](JailKey& k) { k.limits.memory_bytes = 1; }));
  EXPECT_NE(key, with([](JailKey& k) { k.limits.max_processes = 1; }));
  EXPECT_NE(key, with([](JailKey& k) { k.limits.cpu_millis = 1; }));
  EXPECT_NE(key, with([](JailKey& k) { k.limits.tmp_bytes = 1; }));
  EXPECT_NE(key, with([](JailKey& k) { k.limits.workspace_bytes = 1; }));
  EXPECT_NE(key, with([](JailKey& k) { k.limits.max_files = 1; }));
  EXPECT_LT(with([](JailKey& k) { k.limits.memory_bytes = 1; }), key);
}

TEST(TargetFor, FloorForWhatIsAlwaysKeptOrUsedOfLate) {
  EXPECT_EQ(TargetFor(Always(), Options()), 2u);
  EXPECT_EQ(TargetFor(Used(1), Options()), 2u);
  EXPECT_EQ(TargetFor(Used(1, absl::Seconds(59)), Options()), 2u);
  EXPECT_EQ(TargetFor(Used(1, absl::Seconds(60)), Options()), 0u);
  EXPECT_EQ(TargetFor(Demand{}, Options()), 0u);
}

TEST(TargetFor, FollowsThePeakWithinItsBounds) {
  PoolBounds options = Options();
  EXPECT_EQ(TargetFor(Used(5), options), 5u);
  EXPECT_EQ(TargetFor(Used(50), options), 8u);
  options.max_idle = 3;
  EXPECT_EQ(TargetFor(Used(50), options), 3u);
  options.memory_budget_bytes = 2 * kMiB + 1;
  EXPECT_EQ(TargetFor(Used(50), options), 2u);
  options.memory_budget_bytes = kMiB - 1;
  EXPECT_EQ(TargetFor(Used(50), options), 0u);
}

TEST(TargetFor, AnOldPeakOfAKeyThatIsAlwaysKeptDoesNotCount) {
  Demand demand = Always();
  demand.peak = 7;
  demand.unused_for = absl::Seconds(61);
  EXPECT_EQ(TargetFor(demand, Options()), 2u);
}

TEST(TargetFor, NoFloorTurnsThePoolOff) {
  PoolBounds options = Options();
  options.floor = 0;
  EXPECT_EQ(TargetFor(Always(), options), 0u);
  EXPECT_EQ(TargetFor(Used(5), options), 0u);
}

TEST(ShareTargets, WithRoomEachHasItsOwn) {
  EXPECT_THAT(ShareTargets({Always(), Used(5), Used(50), Demand{}}, Options()),
              ElementsAre(2, 5, 8, 0));
  EXPECT_THAT(ShareTargets({}, Options()), ElementsAre());
}

TEST(ShareTargets, KeysThatAreAlwaysKeptComeFirst) {
  PoolBounds options = Options();
  options.max_idle = 5;
  EXPECT_THAT(ShareTargets({Used(8), Always(), Always()}, options),
              ElementsAre(1, 2, 2));
  options.max_idle = 3;
  EXPECT_THAT(ShareTargets({Used(8), Always(), Always()}, options),
              ElementsAre(0, 2, 1));
}

TEST(ShareTargets, FloorsComeBeforeGrowthAndTheMostRecentlyUsedFirst) {
  PoolBounds options = Options();
  options.memory_budget_bytes = 9 * kMiB;
  // 2 for each, then 3 more in turn from the one that was used last.
  EXPECT_THAT(ShareTargets({Used(8, absl::Seconds(2)), Used(8),
                            Used(8, absl::Seconds(1))},
                           options),
              ElementsAre(3, 3, 3));
  options.memory_budget_bytes = 8 * kMiB;
  EXPECT_THAT(ShareTargets({Used(8, absl::Seconds(2)), Used(8),
                            Used(8, absl::Seconds(1))},
                           options),
              ElementsAre(2, 3, 3));
}

TEST(TargetFor, AKindMayHaveBoundsOfItsOwnWithinThePools) {
  Demand demand = Used(50);
  demand.floor = 1;
  demand.ceiling = 3;
  EXPECT_EQ(TargetFor(demand, Options()), 3u);
  demand.peak = 0;
  EXPECT_EQ(TargetFor(demand, Options()), 1u);
  demand.floor = 5;
  demand.ceiling = 50;
  EXPECT_EQ(TargetFor(demand, Options()), 2u);
  demand.peak = 50;
  EXPECT_EQ(TargetFor(demand, Options()), 8u);
}

TEST(ShareTargets, LargeJailsDontTakeWhatSmallOnesGrowBy) {
  Demand large = Used(8);
  large.idle_bytes = 30 * kMiB;
  large.floor = 1;
  EXPECT_THAT(ShareTargets({large, Used(8, absl::Seconds(1))}, Options()),
              ElementsAre(3, 8));
  PoolBounds options = Options();
  options.memory_budget_bytes = 63 * kMiB;
  EXPECT_THAT(ShareTargets({large, Used(8, absl::Seconds(1))}, options),
              ElementsAre(1, 8));
}

TEST(ShareTargets, AJailThatIsTooLargeLeavesTheRestToSmallerOnes) {
  PoolBounds options = Options();
  options.memory_budget_bytes = 10 * kMiB;
  Demand large = Used(8);
  large.idle_bytes = 8 * kMiB;
  EXPECT_THAT(ShareTargets({large, Used(8, absl::Seconds(1))}, options),
              ElementsAre(1, 2));
}

TEST(DemandMeter, CountsTakesWithinAWindow) {
  DemandMeter meter(absl::Seconds(60), 16);
  EXPECT_EQ(meter.Peak(At(absl::ZeroDuration())), 0u);
  for (int i = 0; i < 5; ++i) {
    meter.Record(At(absl::Milliseconds(10) * i), kWindow);
  }
  EXPECT_EQ(meter.Peak(At(absl::Milliseconds(50))), 5u);
  // One at a time is no burst.
  for (int i = 1; i < 10; ++i) meter.Record(At(absl::Seconds(i)), kWindow);
  EXPECT_EQ(meter.Peak(At(absl::Seconds(10))), 5u);
}

TEST(DemandMeter, AWiderWindowSeesMore) {
  DemandMeter narrow(absl::Seconds(60), 16);
  DemandMeter wide(absl::Seconds(60), 16);
  for (int i = 0; i < 8; ++i) {
    narrow.Record(At(absl::Milliseconds(90) * i), absl::Milliseconds(100));
    wide.Record(At(absl::Milliseconds(90) * i), absl::Seconds(1));
  }
  EXPECT_EQ(narrow.Peak(At(absl::Seconds(1))), 2u);
  EXPECT_EQ(wide.Peak(At(absl::Seconds(1))), 8u);
}

TEST(DemandMeter, NeverCountsAboveItsLimit) {
  DemandMeter meter(absl::Seconds(60), 4);
  for (int i = 0; i < 100; ++i) meter.Record(At(absl::ZeroDuration()), kWindow);
  EXPECT_EQ(meter.Peak(At(absl::ZeroDuration())), 4u);
  meter.Raise(At(absl::ZeroDuration()), 50);
  EXPECT_EQ(meter.Peak(At(absl::ZeroDuration())), 4u);
}

TEST(DemandMeter, ForgetsAPeakAfterHalfToAllOfItsMemory) {
  DemandMeter meter(absl::Seconds(60), 16);
  meter.Raise(At(absl::ZeroDuration()), 9);
  EXPECT_EQ(meter.Peak(At(absl::Seconds(29))), 9u);
  EXPECT_EQ(meter.Peak(At(absl::Seconds(60))), 0u);
  // So it does while single takes go on.
  DemandMeter busy(absl::Seconds(60), 16);
  busy.Raise(At(absl::ZeroDuration()), 9);
  for (int i = 1; i <= 60; ++i) {
    busy.Record(At(absl::Seconds(i)), kWindow);
    EXPECT_TRUE(i >= 30 || busy.Peak(At(absl::Seconds(i))) == 9u) << i;
  }
  EXPECT_EQ(busy.Peak(At(absl::Seconds(60))), 1u);
}

TEST(DemandMeter, AnEndlessMemoryDoesNotOverflow) {
  DemandMeter meter(absl::InfiniteDuration(), 16);
  meter.Record(At(absl::ZeroDuration()), kWindow);
  meter.Record(At(absl::Hours(1)), kWindow);
  EXPECT_EQ(meter.Peak(At(absl::Hours(2))), 1u);
}

TEST(BurstWindow, IsAFillWithinItsBounds) {
  EXPECT_EQ(BurstWindow(absl::ZeroDuration()), absl::Milliseconds(100));
  EXPECT_EQ(BurstWindow(absl::Milliseconds(300)), absl::Milliseconds(300));
  EXPECT_EQ(BurstWindow(absl::Seconds(10)), absl::Seconds(1));
}

TEST(NextBackoff, DoublesUpToThirtySeconds) {
  std::vector<int64_t> waits;
  absl::Duration wait = absl::ZeroDuration();
  for (int i = 0; i < 7; ++i) {
    wait = NextBackoff(wait);
    waits.push_back(absl::ToInt64Seconds(wait));
  }
  EXPECT_THAT(waits, ElementsAre(1, 2, 4, 8, 16, 30, 30));
}

}  // namespace
}  // namespace sandglass::server
