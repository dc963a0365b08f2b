// The benchmark's judgement of what is promised of each language.
#include "bench/language_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sandglass::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Bar kFour = {.factor = 1, .extra = absl::Milliseconds(4)};
constexpr Bar kFivePercentAndFour = {.factor = 1.05,
                                     .extra = absl::Milliseconds(4)};
constexpr Bar kThird = {.factor = 0.35, .extra = absl::ZeroDuration()};

LanguageRow MakeRow(const char* name, Bar bar, double bare_ms, double ours_ms) {
  return {.name = name,
          .bar = bar,
          .bare = Summarise({absl::Milliseconds(bare_ms)}),
          .ours = Summarise({absl::Milliseconds(ours_ms)})};
}

LanguageRow MissingRow(const char* name) {
  return {.name = name, .bar = kFour, .problem = "it is not installed"};
}

TEST(BenchLanguages, FourMillisecondsAboveBarePass) {
  EXPECT_EQ(MeetsBar(MakeRow("a", kFour, 20, 24)), Verdict(true));
  EXPECT_EQ(MeetsBar(MakeRow("a", kFour, 20, 24.001)), Verdict(false));
}

TEST(BenchLanguages, AFactorIsOfTheBareTime) {
  EXPECT_EQ(MeetsBar(MakeRow("a", kFivePercentAndFour, 1000, 1054)),
            Verdict(true));
  EXPECT_EQ(MeetsBar(MakeRow("a", kFivePercentAndFour, 1000, 1054.1)),
            Verdict(false));
  EXPECT_EQ(MeetsBar(MakeRow("a", kThird, 1000, 350)), Verdict(true));
  EXPECT_EQ(MeetsBar(MakeRow("a", kThird, 1000, 350.1)), Verdict(false));
}

TEST(BenchLanguages, MediansAreJudged) {
  LanguageRow row = MakeRow("a", kFour, 20, 0);
  row.ours = Summarise(
      {absl::Milliseconds(1), absl::Milliseconds(24), absl::Milliseconds(500)});
  EXPECT_EQ(MeetsBar(row), Verdict(true));
}

TEST(BenchLanguages, AllMustPass) {
  LanguageReport report;
  EXPECT_EQ(MeetsBar(report), Verdict());
  report.rows = {MakeRow("a", kFour, 20, 24), MakeRow("b", kFour, 20, 21)};
  EXPECT_EQ(MeetsBar(report), Verdict(true));
  report.rows.push_back(MakeRow("c", kFour, 20, 30));
  EXPECT_EQ(MeetsBar(report), Verdict(false));
}

TEST(BenchLanguages, AMissingLanguageIsSaidAndNotJudged) {
  LanguageReport report;
  report.rows = {MakeRow("a", kFour, 20, 24), MissingRow("b")};
  EXPECT_EQ(MeetsBar(report.rows[1]), Verdict());
  EXPECT_EQ(MeetsBar(report), Verdict());
  const std::string text = ToMarkdown(report);
  EXPECT_THAT(text, HasSubstr("NOT JUDGED: b: it is not installed"));
  EXPECT_THAT(text, HasSubstr("Languages: NOT JUDGED"));
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_TRUE(json["languages"][1]["meets_bar"].is_null());
  EXPECT_EQ(json["languages"][1]["problem"], "it is not installed");
  EXPECT_TRUE(json["meets"]["bar"].is_null());
}

TEST(BenchLanguages, AMissDecidesEvenBesideAMissingLanguage) {
  LanguageReport report;
  report.rows = {MissingRow("a"), MakeRow("b", kFour, 20, 30)};
  EXPECT_EQ(MeetsBar(report), Verdict(false));
}

TEST(BenchLanguages, TheTableHasRatioDifferenceAndBar) {
  LanguageReport report;
  report.rows = {MakeRow("java", kFivePercentAndFour, 800, 400)};
  EXPECT_THAT(ToMarkdown(report),
              HasSubstr("|   0.50 |  -400.00 | 1.05 x bare + 4 ms |     844.00 "
                        "|    PASS |"));
  EXPECT_EQ(ToJson(report)["languages"][0]["ratio_to_bare"], 0.5);
}

TEST(BenchLanguages, PhasesThatALanguageHasNotAreLeftOut) {
  LanguageReport report;
  report.rows = {MakeRow("bash", kFour, 2, 4), MakeRow("go", kFour, 300, 303)};
  report.rows[0].phases = {{"run", Summarise({absl::Milliseconds(2)})}};
  report.rows[1].phases = {{"compiler", Summarise({absl::Milliseconds(290)})},
                           {"run", Summarise({absl::Milliseconds(3)})}};
  const std::string text = ToMarkdown(report);
  EXPECT_THAT(text, HasSubstr("| bash                  | 2.00 |        - |"));
  EXPECT_THAT(text, HasSubstr("| go                    | 3.00 |   290.00 |"));
  report.rows[0].phases.clear();
  report.rows[1].phases.clear();
  EXPECT_THAT(ToMarkdown(report), Not(HasSubstr("phase")));
}

}  // namespace
}  // namespace sandglass::bench
