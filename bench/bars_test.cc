// The benchmark's judgement of what is promised.
#include "bench/bars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sandglass::bench {
namespace {

using ::testing::HasSubstr;

std::vector<absl::Duration> Many(double ms) {
  return std::vector<absl::Duration>(100, absl::Milliseconds(ms));
}

Row MakeRow(const char* program, const char* contender, double ms,
            int in_flight = 0) {
  return {.program = program,
          .contender = contender,
          .in_flight = in_flight,
          .time = Summarise(Many(ms))};
}

Row MakeLoop(const char* contender, int in_flight, double rate, double ms) {
  Row row = MakeRow("python", contender, ms, in_flight);
  row.runs_per_second = rate;
  return row;
}

Verdict Only(const Report& report) {
  const std::vector<BarLine> lines = Judge(report);
  EXPECT_EQ(lines.size(), 1u);
  return lines.empty() ? std::nullopt : IsMet(lines[0]);
}

Report Program(Bar bar, double bare_ms, double ours_ms) {
  Report report;
  report.rows = {MakeRow("a", kBare, bare_ms),
                 MakeRow("a", kSandglassWarm, ours_ms)};
  report.bars = {{"a", bar}};
  return report;
}

TEST(BenchBars, MedianIsAPartOfBares) {
  EXPECT_EQ(Only(Program({.median = 0.1}, 10, 1)), Verdict(true));
  EXPECT_EQ(Only(Program({.median = 0.1}, 10, 1.001)), Verdict(false));
}

TEST(BenchBars, SomeMillisecondsMayComeOnTop) {
  const Bar bar = {.median = 1.05, .extra = absl::Milliseconds(4)};
  EXPECT_EQ(Only(Program(bar, 1000, 1054)), Verdict(true));
  EXPECT_EQ(Only(Program(bar, 1000, 1054.1)), Verdict(false));
}

TEST(BenchBars, TailIsAPartOfBaresTail) {
  EXPECT_EQ(Only(Program({.tail = 0.4}, 10, 4)), Verdict(true));
  EXPECT_EQ(Only(Program({.tail = 0.4}, 10, 4.001)), Verdict(false));
}

TEST(BenchBars, ATailOfFewRunsIsNotJudged) {
  Report report = Program({.median = 0.5, .tail = 0.4}, 10, 1);
  report.rows[0].time =
      Summarise(std::vector<absl::Duration>(99, absl::Milliseconds(10)));
  const std::vector<BarLine> lines = Judge(report);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(IsMet(lines[0]), Verdict(true));
  EXPECT_EQ(IsMet(lines[1]), Verdict());
  EXPECT_EQ(AreMet(lines), Verdict());
}

TEST(BenchBars, AProgramWithoutFiguresIsNotJudged) {
  Report report = Program({.median = 1}, 10, 1);
  report.rows[0].time = {};
  EXPECT_EQ(Only(report), Verdict());
}

TEST(BenchBars, RulesMayAddSomeMicroseconds) {
  Report report;
  report.rows = {MakeRow("python", kSandglassWarm, 2),
                 MakeRow("python", kSandglassRules, 2.29)};
  EXPECT_EQ(Only(report), Verdict(true));
  report.rows[1] = MakeRow("python", kSandglassRules, 2.31);
  EXPECT_EQ(Only(report), Verdict(false));
  report.rows[0].time = {};
  EXPECT_EQ(Only(report), Verdict());
}

TEST(BenchBars, WhatWasNotAskedForHasNoLine) {
  Report report = Program({.median = 1}, 10, 1);
  report.bars.emplace_back("b", Bar{.median = 1});
  EXPECT_EQ(Judge(report).size(), 1u);
  EXPECT_EQ(Judge({}).size(), 0u);
  EXPECT_EQ(AreMet({}), Verdict());
}

TEST(BenchBars, ColdIsNoSlowerThanBubblewrap) {
  Report report;
  report.rows = {MakeRow("python", kBubblewrap, 10),
                 MakeRow("python", kSandglassCold, 10)};
  EXPECT_EQ(Only(report), Verdict(true));
  report.rows[1] = MakeRow("python", kSandglassCold, 10.01);
  EXPECT_EQ(Only(report), Verdict(false));
}

TEST(BenchBars, TheMostRunsASecondAreComparedWithBaresMost) {
  Report report;
  report.processors = 2;
  report.rows = {MakeLoop(kBare, 2, 90, 1), MakeLoop(kBare, 8, 100, 1),
                 MakeLoop(kSandglassWarm, 4, 300, 1),
                 MakeLoop(kSandglassWarm, 8, 290, 1)};
  EXPECT_EQ(Only(report), Verdict(true));
  EXPECT_THAT(Judge(report)[0].numbers,
              HasSubstr("300 with 4 in flight against 100 with 8"));
  report.rows[2].runs_per_second = 299;
  EXPECT_EQ(Only(report), Verdict(false));
  report.processors = 16;
  EXPECT_EQ(Only(report), Verdict(true));
  report.rows[2].runs_per_second = report.rows[3].runs_per_second = 199;
  EXPECT_EQ(Only(report), Verdict(false));
  report.rows[0].runs_per_second = report.rows[1].runs_per_second = 0;
  EXPECT_EQ(Only(report), Verdict());
  report.rows[0].time = report.rows[1].time = {};
  EXPECT_EQ(Only(report), Verdict());
}

TEST(BenchBars, OneCallerWithoutRestHasABarOfItsOwn) {
  Report report;
  report.processors = 2;
  report.rows = {MakeLoop(kBare, 1, 100, 10),
                 MakeLoop(kSandglassWarm, 1, 300, 1.2)};
  const std::vector<BarLine> lines = Judge(report);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(IsMet(lines[0]), Verdict(true));
  report.rows[1].time = Summarise(Many(1.3));
  EXPECT_EQ(IsMet(Judge(report)[0]), Verdict(false));
}

TEST(BenchBars, ACrowdOfRunsIsNearlyAsFastAndEachCostsLittle) {
  Report report;
  report.processors = 4;
  report.rows = {MakeLoop(kSandglassWarm, 4, 100, 1),
                 MakeLoop(kSandglassWarm, 32, 80, 1)};
  EXPECT_EQ(AreMet(Judge(report)), Verdict());
  report.rows[1].cpu = absl::Microseconds(3500);
  ASSERT_EQ(Judge(report).size(), 2u);
  EXPECT_EQ(AreMet(Judge(report)), Verdict(true));
  report.rows[1].cpu = absl::Microseconds(3510);
  EXPECT_EQ(IsMet(Judge(report)[1]), Verdict(false));
  report.rows[1].runs_per_second = 79;
  EXPECT_EQ(IsMet(Judge(report)[0]), Verdict(false));
  report.rows[1].time = {};
  EXPECT_EQ(IsMet(Judge(report)[0]), Verdict());
  EXPECT_EQ(IsMet(Judge(report)[1]), Verdict());
}

TEST(BenchBars, ManyInFlightWaitNoLongerThanTheRateSays) {
  Report report;
  report.processors = 2;
  // 3 x 64 / 64 s
  report.rows = {MakeLoop(kSandglassWarm, 8, 64, 1),
                 MakeLoop(kSandglassWarm, 64, 60, 3000)};
  std::vector<BarLine> lines = Judge(report);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(AreMet(lines), Verdict(true));
  report.rows[1].time = Summarise(Many(3001));
  lines = Judge(report);
  EXPECT_EQ(IsMet(lines[0]), Verdict(false));
  report.rows[1].failed = 1;
  EXPECT_EQ(IsMet(Judge(report)[1]), Verdict(false));
}

TEST(BenchBars, AnIdleJailIsAllThatItHolds) {
  Report report;
  const double mib = 1 << 20;
  report.memory = {.idle = {{.kind = "other", .count = 1, .pss = 90 * mib},
                            {.kind = "python-lean",
                             .count = 4,
                             .pss = 2 * mib,
                             .kernel = 0.5 * mib,
                             .tmpfs = 0.5 * mib}}};
  EXPECT_EQ(Only(report), Verdict(true));
  report.memory->idle[1].tmpfs += 1;
  EXPECT_EQ(Only(report), Verdict(false));
  report.memory->idle.pop_back();
  EXPECT_EQ(Only(report), Verdict());
}

TEST(BenchBars, ACrowdIsManyThatWorkAndAllGo) {
  Report report;
  report.memory = {.crowd =
                       Crowd{.jails = {{.kind = "python-lean", .count = 200}},
                             .runs = true}};
  std::vector<BarLine> lines = Judge(report);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(IsMet(lines[2]), Verdict(true));
  EXPECT_EQ(IsMet(lines[3]), Verdict(true));
  report.memory->crowd->left = 1;
  EXPECT_EQ(IsMet(Judge(report)[3]), Verdict(false));
  report.memory->crowd->runs = false;
  EXPECT_EQ(IsMet(Judge(report)[2]), Verdict(false));
  report.memory->crowd->runs = true;
  report.memory->crowd->jails[0].count = 199;
  EXPECT_EQ(IsMet(Judge(report)[2]), Verdict(false));
  report.memory->crowd->problem = "it died";
  EXPECT_EQ(IsMet(Judge(report)[2]), Verdict());
  EXPECT_EQ(IsMet(Judge(report)[3]), Verdict());
}

TEST(BenchBars, AnIdleJailOfACrowdHasABarToo) {
  Report report;
  const double mib = 1 << 20;
  report.memory = {.crowd = Crowd{.jails = {{.kind = "python-lean",
                                             .count = 200,
                                             .pss = 2.9 * mib,
                                             .kernel = 0.1 * mib}}}};
  EXPECT_EQ(IsMet(Judge(report)[1]), Verdict(true));
  report.memory->crowd->jails[0].pss += 1024;
  EXPECT_EQ(IsMet(Judge(report)[1]), Verdict(false));
  report.memory->crowd->problem = "it died";
  EXPECT_EQ(IsMet(Judge(report)[1]), Verdict());
}

TEST(BenchBars, OneLateEndBreaksTheWallPromise) {
  Report report;
  report.wall = {.limit = absl::Milliseconds(200)};
  EXPECT_EQ(Only(report), Verdict());
  std::vector<absl::Duration> samples(999, absl::Milliseconds(1));
  samples.push_back(absl::Milliseconds(20));
  report.wall->ended = Summarise(samples);
  EXPECT_EQ(Only(report), Verdict(true));
  samples.back() = absl::Milliseconds(21);
  report.wall->ended = Summarise(samples);
  EXPECT_EQ(Only(report), Verdict(false));
}

TEST(BenchBars, TheCostOfTheLayersIsOfOneProgramUnderBothByNeither) {
  const auto row = [](const char* program, const char* layers, double ms) {
    return LayersRow{.program = program,
                     .layers = layers,
                     .time = Summarise({absl::Seconds(9)}),
                     .cpu = Summarise({ms * absl::Milliseconds(1)})};
  };
  Report report;
  report.layers = {.programs = {row("other", kNoLayer, 1),
                                row("other", kBothLayers, 9),
                                row(kLayersJudged, kNoLayer, 100),
                                row(kLayersJudged, kSeccompLayer, 9),
                                row(kLayersJudged, kBothLayers, 105)}};
  EXPECT_EQ(Only(report), Verdict(true));
  report.layers->programs.back() = row(kLayersJudged, kBothLayers, 105.1);
  EXPECT_EQ(Only(report), Verdict(false));
  report.layers->programs.pop_back();
  EXPECT_EQ(Only(report), Verdict());
}

TEST(BenchBars, ASessionStartsWithinThreeStatelessRuns) {
  const auto step = [](const char* name, double ms) {
    return SessionStep{.name = name,
                       .contender = kSandglassSession,
                       .time = Summarise({ms * absl::Milliseconds(1)})};
  };
  Report report;
  report.sessions = {.steps = {step(kWarmRun, 2), step(kCreateAndRun, 6)}};
  EXPECT_EQ(Only(report), Verdict(true));
  report.sessions->steps[1] = step(kCreateAndRun, 6.1);
  EXPECT_EQ(Only(report), Verdict(false));
  report.sessions->problem = "died";
  EXPECT_EQ(Only(report), Verdict());
}

TEST(BenchBars, ABurstIsJudgedByItsTimeUnlessSomeHadNoResult) {
  Report report;
  report.burst = {.wanted = 1000, .time = absl::Seconds(2)};
  EXPECT_EQ(AreMet(Judge(report)), Verdict(true));
  report.burst->time = absl::Seconds(4);
  EXPECT_EQ(AreMet(Judge(report)), Verdict(false));
  report.burst = {.wanted = 1000, .time = absl::Seconds(2), .wrong = 1};
  EXPECT_EQ(AreMet(Judge(report)), Verdict(false));
  report.burst = {.wanted = 1000, .problem = "died"};
  EXPECT_EQ(AreMet(Judge(report)), Verdict());
}

TEST(BenchBars, OverloadIsJudgedByWhatWentWrongAndHowLateOthersAreRefused) {
  const auto verdicts = [](const Report& report) {
    std::vector<Verdict> all;
    for (const BarLine& line : Judge(report)) all.push_back(IsMet(line));
    return all;
  };
  Report report;
  report.overload = {.factor = 10,
                     .capacity = 20,
                     .offered = 197,
                     .accepted = Summarise({absl::Seconds(1)}),
                     .refused = Summarise(std::vector<absl::Duration>(
                         100, absl::Milliseconds(50)))};
  EXPECT_THAT(verdicts(report), ::testing::ElementsAre(true, true, true));
  report.overload->wrong = 1;
  report.overload->offered = 190;
  report.overload->refused =
      Summarise(std::vector<absl::Duration>(100, absl::Milliseconds(51)));
  EXPECT_THAT(verdicts(report), ::testing::ElementsAre(false, false, false));
  report.overload->refused = {};
  EXPECT_THAT(verdicts(report),
              ::testing::ElementsAre(false, false, Verdict()));
  report.overload->problem = "died";
  EXPECT_THAT(verdicts(report),
              ::testing::ElementsAre(Verdict(), Verdict(), Verdict()));
}

TEST(BenchBars, LibrariesAreJudgedBySetAndWay) {
  const auto row = [](const char* name, double ratio) {
    return LibrariesRow{.name = name,
                        .base = Summarise({absl::Seconds(1)}),
                        .ours = Summarise({absl::Seconds(2)}),
                        .ratio = ratio};
  };
  Report report;
  report.libraries = {
      .installs = {row(kSmallSet, 1.3), row(kLargeSet, 1.31), row(kNpmSet, 1)},
      .uses = {row(kSmallSet, 1.05), row(kLargeSet, 1.06)},
      .parts = {row("other", 9)},
      .transfers = {row(kByTunnel, 0.5), row(kByHttp, 0.49)}};
  const std::vector<BarLine> lines = Judge(report);
  std::vector<Verdict> verdicts;
  verdicts.reserve(lines.size());
  for (const BarLine& line : lines) verdicts.push_back(IsMet(line));
  EXPECT_THAT(verdicts, ::testing::ElementsAre(true, false, true, true, false,
                                               true, false));
  EXPECT_THAT(lines[1].name, HasSubstr(kLargeSet));
  EXPECT_THAT(lines[1].numbers, HasSubstr("2000.00 against 1000.00 ms"));
}

TEST(BenchBars, LibrariesWithoutFiguresAreNotJudged) {
  Report report;
  report.libraries = {.installs = {{.name = kSmallSet}}, .problem = "died"};
  for (const BarLine& line : Judge(report)) {
    EXPECT_EQ(IsMet(line), Verdict()) << line.name;
  }
  EXPECT_EQ(Judge(report).size(), 7);
}

TEST(BenchBars, AMissDecidesEvenBesideAFigureThatIsMissing) {
  Report report = Program({.median = 0.1}, 10, 5);
  report.bars.emplace_back("b", Bar{.median = 1});
  report.rows.push_back(
      {.program = "b", .contender = kSandglassWarm, .problem = "missing"});
  EXPECT_EQ(AreMet(Judge(report)), Verdict(false));
  EXPECT_THAT(Judge(report)[0].numbers, HasSubstr("5.00 against 10.00 ms"));
}

}  // namespace
}  // namespace sandglass::bench
