#include "bench/stats.h"

#include <gtest/gtest.h>

#include <vector>

namespace sandglass::bench {
namespace {

std::vector<absl::Duration> OneTo(int last) {
  std::vector<absl::Duration> samples;
  for (int i = last; i >= 1; --i) samples.push_back(absl::Milliseconds(i));
  return samples;
}

TEST(BenchStats, PercentilesAreNearestRank) {
  const Summary summary = Summarise(OneTo(200));
  EXPECT_EQ(summary.n, 200u);
  EXPECT_EQ(summary.p50, absl::Milliseconds(100));
  EXPECT_EQ(summary.p90, absl::Milliseconds(180));
  EXPECT_EQ(summary.p99, absl::Milliseconds(198));
  EXPECT_EQ(summary.max, absl::Milliseconds(200));
  EXPECT_EQ(summary.mean, absl::Microseconds(100500));
}

TEST(BenchStats, FewSamplesHaveNoTail) {
  EXPECT_FALSE(HasTail(Summarise(OneTo(99))));
  EXPECT_TRUE(HasTail(Summarise(OneTo(100))));
}

TEST(BenchStats, NoSamplesGiveZeros) {
  const Summary summary = Summarise({});
  EXPECT_EQ(summary.n, 0u);
  EXPECT_EQ(summary.max, absl::ZeroDuration());
}

TEST(BenchStats, SamplesKeepTheirNamesAndOrder) {
  NamedSamples samples;
  samples.Add({{"b", absl::Seconds(1)}, {"a", absl::Seconds(2)}});
  samples.Add({{"a", absl::Seconds(4)}});
  const NamedSummaries summaries = samples.Summaries();
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].first, "b");
  EXPECT_EQ(summaries[1].second.n, 2u);
  EXPECT_EQ(summaries[1].second.mean, absl::Seconds(3));
}

TEST(BenchStats, ARatioIsTheMedianOfThoseOfAllTurns) {
  const auto seconds = [](const std::vector<double>& list) {
    std::vector<absl::Duration> times;
    times.reserve(list.size());
    for (const double each : list) times.push_back(absl::Seconds(each));
    return times;
  };
  EXPECT_EQ(MedianRatio({}, {}), std::nullopt);
  EXPECT_EQ(MedianRatio(seconds({1}), seconds({0})), std::nullopt);
  // Not the ratio of the medians, which is 2.
  EXPECT_EQ(MedianRatio(seconds({1, 2, 30}), seconds({1, 2, 1})), 1);
  EXPECT_EQ(MedianRatio(seconds({1, 3}), seconds({1, 1})), 2);
}

}  // namespace
}  // namespace sandglass::bench
