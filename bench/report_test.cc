// The benchmark's statistics and its judgement of the promises.
#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/contenders.h"
#include "bench/stats.h"

namespace sandglass::bench {
namespace {

using ::testing::HasSubstr;

std::vector<absl::Duration> OneTo(int last) {
  std::vector<absl::Duration> samples;
  for (int i = last; i >= 1; --i) samples.push_back(absl::Milliseconds(i));
  return samples;
}

Row MakeRow(const char* name, double p50_ms) {
  Row row = {.name = name};
  row.time = Summarise({absl::Milliseconds(p50_ms)});
  return row;
}

Report MakeReport(double cold_ms, double bubblewrap_ms, double bare_ms,
                  double warm_ms = 1) {
  Report report;
  report.rows = {MakeRow(kBare, bare_ms), MakeRow(kBubblewrap, bubblewrap_ms),
                 MakeRow(kSandglassCold, cold_ms),
                 MakeRow(kSandglassWarm, warm_ms)};
  report.wall.limit = absl::Milliseconds(200);
  report.wall.ended = Summarise({absl::Milliseconds(20)});
  return report;
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

TEST(BenchStats, FewSamplesGiveTheLargestAsP99) {
  const Summary summary = Summarise(OneTo(3));
  EXPECT_EQ(summary.p50, absl::Milliseconds(2));
  EXPECT_EQ(summary.p99, absl::Milliseconds(3));
}

TEST(BenchStats, NoSamplesGiveZeros) {
  const Summary summary = Summarise({});
  EXPECT_EQ(summary.n, 0u);
  EXPECT_EQ(summary.max, absl::ZeroDuration());
}

TEST(BenchReport, ColdAsFastAsBubblewrapPasses) {
  EXPECT_EQ(MeetsColdBar(MakeReport(10, 10, 8)), Verdict(true));
  EXPECT_EQ(MeetsColdBar(MakeReport(10.001, 10, 8)), Verdict(false));
}

TEST(BenchReport, WarmIsATenthOfBareAndAimsAtATwentieth) {
  EXPECT_EQ(MeetsWarmBar(MakeReport(10, 10, 10, 1)), Verdict(true));
  EXPECT_EQ(MeetsWarmBar(MakeReport(10, 10, 10, 1.001)), Verdict(false));
  EXPECT_EQ(MeetsAim(MakeReport(10, 10, 10, 0.5)), Verdict(true));
  EXPECT_EQ(MeetsAim(MakeReport(10, 10, 10, 0.501)), Verdict(false));
}

TEST(BenchReport, WarmHasATailToKeepToo) {
  Report report = MakeReport(10, 10, 10, 0.5);
  std::vector<absl::Duration> samples(98, absl::Microseconds(500));
  samples.insert(samples.end(), 2, absl::Milliseconds(4));
  report.rows[3].time = Summarise(samples);
  EXPECT_EQ(MeetsWarmBar(report), Verdict(true));
  samples[98] = samples[99] = absl::Microseconds(4001);
  report.rows[3].time = Summarise(samples);
  EXPECT_EQ(MeetsWarmBar(report), Verdict(false));
}

TEST(BenchReport, OneLateEndBreaksTheWallPromise) {
  Report report = MakeReport(1, 1, 1);
  EXPECT_EQ(MeetsWallPrecision(report), Verdict(true));
  std::vector<absl::Duration> samples(999, absl::Milliseconds(1));
  samples.push_back(absl::Milliseconds(21));
  report.wall.ended = Summarise(samples);
  EXPECT_EQ(MeetsWallPrecision(report), Verdict(false));
}

TEST(BenchReport, AMissingContenderIsSaidAndNothingIsJudged) {
  Report report = MakeReport(10, 10, 8);
  report.rows[1] = {.name = kBubblewrap, .problem = "not installed"};
  EXPECT_EQ(MeetsColdBar(report), Verdict());
  const std::string text = ToMarkdown(report);
  EXPECT_THAT(text, HasSubstr("bubblewrap has no figures: not installed"));
  EXPECT_THAT(text, HasSubstr("Cold (no slower than bubblewrap): NOT JUDGED"));
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_TRUE(json["meets"]["cold_bar"].is_null());
  EXPECT_EQ(json["contenders"][1]["problem"], "not installed");
}

TEST(BenchReport, RatiosAreOfMedians) {
  const Report report = MakeReport(12, 10, 8);
  EXPECT_THAT(
      ToMarkdown(report),
      HasSubstr("|  12.00 |  12.00 |  12.00 |   1.50 |         1.20 |"));
  const nlohmann::ordered_json ours = ToJson(report)["contenders"][2];
  EXPECT_EQ(ours["ratio_to_bare"], 1.5);
  EXPECT_EQ(ours["ratio_to_bubblewrap"], 1.2);
  EXPECT_EQ(ours["p50_ms"], 12.0);
}

TEST(BenchReport, SaysWhichPartOfBare) {
  EXPECT_THAT(ToMarkdown(MakeReport(9, 10, 8, 2)),
              HasSubstr("FAIL, p50 0.250 x and p99 0.250 x"));
}

}  // namespace
}  // namespace sandglass::bench
