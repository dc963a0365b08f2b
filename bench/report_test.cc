// What the benchmark prints and writes.
#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace sandglass::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Row MakeRow(const char* contender, double ms, size_t count = 100) {
  return {.program = "python",
          .contender = contender,
          .time = Summarise(
              std::vector<absl::Duration>(count, absl::Milliseconds(ms)))};
}

Report MakeReport() {
  Report report;
  report.machine = {{"kernel", "6.1"}};
  report.rows = {MakeRow(kBare, 10), MakeRow(kSandglassWarm, 1)};
  report.rows[1].in_flight = 0;
  report.rows[1].cpu = absl::Milliseconds(3);
  report.rows[1].served = {{"python-lean, warm", 99}, {"exec, cold", 1}};
  report.rows[1].warm = 98;
  report.bars = {{"python", {.median = 0.1}}};
  return report;
}

TEST(BenchReport, RowsHaveRatioCpuAndWhatServed) {
  const std::string text = ToMarkdown(MakeReport());
  EXPECT_THAT(text, HasSubstr("- kernel: 6.1"));
  EXPECT_THAT(text, HasSubstr("| 1, rested | 100 |   1.00 |   1.00 |   0.10 |"
                              "      - |   3.00 |"));
  EXPECT_THAT(text, HasSubstr("|      0 | 98/100 | 1 exec, cold; 99 python-lean"
                              ", warm |"));
  const nlohmann::ordered_json json = ToJson(MakeReport());
  EXPECT_EQ(json["format"], 1);
  const nlohmann::ordered_json& row = json["rows"][1];
  EXPECT_EQ(row["in_flight"], 1);
  EXPECT_EQ(row["rested"], true);
  EXPECT_EQ(row["ratio_to_bare"], 0.1);
  EXPECT_EQ(row["cpu_ms"], 3.0);
  EXPECT_TRUE(row["runs_per_second"].is_null());
  EXPECT_EQ(row["warm"], 98);
  EXPECT_EQ(row["served"]["python-lean, warm"], 99);
  // The bare commands have nothing to be warm.
  EXPECT_TRUE(json["rows"][0]["warm"].is_null());
  EXPECT_THAT(text, HasSubstr("|      0 |      - |"));
}

TEST(BenchReport, BarsAreToldWithBothFigures) {
  EXPECT_THAT(ToMarkdown(MakeReport()),
              HasSubstr("1.00 against 10.00 ms | PASS"));
  const nlohmann::ordered_json json = ToJson(MakeReport());
  EXPECT_EQ(json["bars"][0]["value"], 0.1);
  EXPECT_EQ(json["bars"][0]["at_most"], 0.1);
  EXPECT_EQ(json["bars"][0]["met"], true);
  EXPECT_EQ(json["all_met"], true);
}

TEST(BenchReport, TheTailOfFewRunsIsMarked) {
  Report report = MakeReport();
  report.rows[1] = MakeRow(kSandglassWarm, 1, 99);
  EXPECT_THAT(ToMarkdown(report), HasSubstr("(1.00)"));
  EXPECT_TRUE(ToJson(report)["rows"][1]["p99_ms"].is_null());
  EXPECT_EQ(ToJson(report)["rows"][1]["max_ms"], 1.0);
}

TEST(BenchReport, RatiosAreOfTheSameNumberInFlight) {
  Report report = MakeReport();
  report.rows[1].in_flight = 8;
  EXPECT_TRUE(ToJson(report)["rows"][1]["ratio_to_bare"].is_null());
}

TEST(BenchReport, ARowWithoutFiguresIsSaidAndNotJudged) {
  Report report = MakeReport();
  report.rows[1] = {.program = "python",
                    .contender = kSandglassWarm,
                    .problem = "it is not installed"};
  const std::string text = ToMarkdown(report);
  EXPECT_THAT(
      text, HasSubstr("python, sandglass warm, 1, rested in flight: it is not "
                      "installed"));
  EXPECT_THAT(text, HasSubstr("NOT JUDGED"));
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["rows"][1]["problem"], "it is not installed");
  EXPECT_TRUE(json["bars"][0]["met"].is_null());
  EXPECT_TRUE(json["all_met"].is_null());
}

TEST(BenchReport, MemoryIsInMiBForPeopleAndBytesForPrograms) {
  Report report = MakeReport();
  EXPECT_THAT(ToMarkdown(report), Not(HasSubstr("idle jail")));
  const double mib = 1 << 20;
  report.memory = {.idle = {{.kind = "python-lean",
                             .count = 4,
                             .pss = 2 * mib,
                             .kernel = mib / 4}},
                   .crowd = Crowd{.wanted = 200, .problem = "it died"}};
  const std::string text = ToMarkdown(report);
  EXPECT_THAT(text, HasSubstr("|     4 | 2.00 |   0.25 |  0.00 |     2.25 |"));
  EXPECT_THAT(text, HasSubstr("no crowd: it died"));
  const nlohmann::ordered_json json = ToJson(report)["memory"];
  EXPECT_EQ(json["default_pool"][0]["pss_bytes"], 2 << 20);
  EXPECT_EQ(json["crowd"]["problem"], "it died");
}

TEST(BenchReport, LibrariesAreTimesAndTransfersRates) {
  Report report;
  report.libraries = {.installs = {{.name = kSmallSet,
                                    .base = Summarise({absl::Seconds(1)}),
                                    .ours = Summarise({absl::Seconds(1.5)}),
                                    .ratio = 1.5}},
                      .transfers = {{.name = kByTunnel,
                                     .base = Summarise({absl::Seconds(0.5)}),
                                     .ours = Summarise({absl::Seconds(1)}),
                                     .ratio = 0.5}},
                      .problem = "the registry died"};
  const std::string text = ToMarkdown(report);
  EXPECT_THAT(text, HasSubstr("1000.00 |          1500.00 | 1.500"));
  EXPECT_THAT(text, HasSubstr("2048 |         1024 | 0.500"));
  EXPECT_THAT(text, HasSubstr("no more figures: the registry died"));
  const nlohmann::ordered_json json = ToJson(report)["libraries"];
  EXPECT_EQ(json["installs"][0]["ratio"], 1.5);
  EXPECT_EQ(json["transfers"][0]["sandglass"]["p50_ms"], 1000.0);
}

}  // namespace
}  // namespace sandglass::bench
