// What single runs come to.
#include "bench/tally.h"

#include <gtest/gtest.h>

#include <optional>

namespace sandglass::bench {
namespace {

Sample RunOf(std::optional<bool> warm) {
  return {.time = absl::Milliseconds(1), .warm = warm};
}

TEST(BenchTally, ARunIsWarmWhenItsAnswerSaysSoAndNothingWasMissed) {
  EXPECT_EQ(WasWarm(true, 3, 3), true);
  // Such as a compiler's jail, of which the answer says nothing.
  EXPECT_EQ(WasWarm(true, 3, 4), false);
  // A daemon without a pool misses nothing.
  EXPECT_EQ(WasWarm(false, 0, 0), false);
  EXPECT_EQ(WasWarm(std::nullopt, 3, 3), std::nullopt);
  EXPECT_EQ(WasWarm(true, std::nullopt, 3), std::nullopt);
  EXPECT_EQ(WasWarm(true, 3, std::nullopt), std::nullopt);
}

TEST(BenchTally, WarmRunsAreCountedWithoutTheWarmUpAndFailures) {
  RowTally tally({.name = kSandglassWarm}, "java", 0);
  tally.Add(RunOf(true), /*counts=*/false);
  tally.Add(RunOf(true), /*counts=*/true);
  tally.Add(RunOf(false), /*counts=*/true);
  tally.Add(RunOf(true), /*counts=*/true);
  tally.Add(absl::UnknownError("it printed nothing"), /*counts=*/true);
  const Row row = std::move(tally).Finish();
  EXPECT_EQ(row.warm, 2U);
  EXPECT_EQ(row.time.n, 3U);
}

TEST(BenchTally, NoneWarmIsNotTheSameAsNotKnown) {
  RowTally cold({.name = kSandglassCold}, "java", 0);
  cold.Add(RunOf(false), /*counts=*/true);
  EXPECT_EQ(std::move(cold).Finish().warm, 0U);
  RowTally bare({.name = kBare}, "java", 0);
  bare.Add(RunOf(std::nullopt), /*counts=*/true);
  EXPECT_EQ(std::move(bare).Finish().warm, std::nullopt);
}

TEST(BenchTally, RunsInFlightCanNotBeTold) {
  RowTally tally({.name = kSandglassWarm}, "java", 8);
  tally.Add(RunOf(true), /*counts=*/true);
  EXPECT_EQ(std::move(tally).Finish().warm, std::nullopt);
}

}  // namespace
}  // namespace sandglass::bench
