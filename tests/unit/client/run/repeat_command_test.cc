#include "client/run/repeat_command.h"

#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

TEST(PercentileTest, TakesTheNearestRank) {
  std::vector<absl::Duration> times;
  EXPECT_EQ(Percentile(times, 50), absl::ZeroDuration());
  for (int i = 1; i <= 100; ++i) times.push_back(absl::Milliseconds(i));
  EXPECT_EQ(Percentile(times, 50), absl::Milliseconds(50));
  EXPECT_EQ(Percentile(times, 99), absl::Milliseconds(99));
  EXPECT_EQ(Percentile(times, 100), absl::Milliseconds(100));
  EXPECT_EQ(Percentile(times, 0), absl::Milliseconds(1));
  EXPECT_EQ(Percentile({absl::Milliseconds(7)}, 99), absl::Milliseconds(7));
  EXPECT_EQ(Percentile({absl::Milliseconds(1), absl::Milliseconds(2)}, 50),
            absl::Milliseconds(1));
}

TEST(SummaryTest, HasTheFiguresInBothForms) {
  RepeatSummary summary;
  summary.times = {absl::Milliseconds(4), absl::Milliseconds(2),
                   absl::Milliseconds(6)};
  summary.total = absl::Milliseconds(15);
  summary.outcomes = {{"OK", 2}, {"TIMEOUT", 1}};
  const auto json = nlohmann::json::parse(SummaryJson(summary), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["n"], 3);
  EXPECT_DOUBLE_EQ(json["p50_ms"].get<double>(), 4.0);
  EXPECT_DOUBLE_EQ(json["p99_ms"].get<double>(), 6.0);
  EXPECT_DOUBLE_EQ(json["min_ms"].get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(json["max_ms"].get<double>(), 6.0);
  EXPECT_DOUBLE_EQ(json["mean_ms"].get<double>(), 4.0);
  EXPECT_DOUBLE_EQ(json["runs_per_s"].get<double>(), 200.0);
  EXPECT_EQ(json["outcomes"]["TIMEOUT"], 1);
  EXPECT_EQ(SummaryText(summary),
            "3 runs: p50 4.000 ms, p99 6.000 ms, min 2.000 ms, max 6.000 ms, "
            "mean 4.000 ms, 200.0 runs/s; 2 OK 1 TIMEOUT\n");
}

}  // namespace
}  // namespace sandglass::client
