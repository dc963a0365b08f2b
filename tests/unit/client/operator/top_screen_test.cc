#include "client/operator/top_screen.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/text_fit.h"
#include "client/operator/full_screen.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_operator.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

v1::RunSummary RunOf(const std::string& id, v1::RunState state,
                     int64_t seconds) {
  v1::RunSummary run;
  run.set_run_id(id);
  run.set_state(state);
  run.set_language("python");
  run.set_profile("default");
  run.set_caller("uid:1000");
  run.mutable_elapsed()->set_seconds(seconds);
  return run;
}

TopSnapshot Busy() {
  TopSnapshot snapshot;
  snapshot.status = FakeStatus();
  *snapshot.active.add_runs() = RunOf("run-q", v1::RUN_STATE_QUEUED, 90);
  *snapshot.active.add_runs() = RunOf("run-new", v1::RUN_STATE_RUNNING, 1);
  *snapshot.active.add_runs() = RunOf("run-old", v1::RUN_STATE_RUNNING, 60);
  snapshot.active.mutable_runs(1)->set_session_id("ses-1");
  *snapshot.ended.add_runs() = RunOf("run-done", v1::RUN_STATE_FINISHED, 2);
  snapshot.ended.mutable_runs(0)->set_outcome(v1::OUTCOME_TIMEOUT);
  v1::Session& session = *snapshot.sessions.add_sessions();
  session.set_session_id("ses-1");
  session.set_state(v1::SESSION_STATE_ACTIVE);
  session.set_memory_bytes(12 << 20);
  session.mutable_last_used_time()->set_seconds(
      snapshot.status.time().seconds() - 65);
  return snapshot;
}

std::string TextOf(const std::vector<ScreenLine>& lines) {
  std::string text;
  for (const ScreenLine& line : lines) absl::StrAppend(&text, line.text, "\n");
  return text;
}

TEST(TopScreenTest, ShowsTheDaemonThePoolRunsAndSessions) {
  const std::string text = TextOf(TopLines(nullptr, Busy(), "", {}));
  EXPECT_THAT(text, HasSubstr("sandglassd 0.1.0 ready, up 2h5m, "));
  EXPECT_THAT(text, HasSubstr("running 1/8  queued 0/64  memory 256 MiB/4 GiB  "
                              "sessions 3  commands 1  daemon 64 MiB\n"));
  EXPECT_THAT(text, HasSubstr("POOL         READY  HITS  MISSES\n"
                              "python-lean  4/6    1000  4\n"));
  EXPECT_THAT(text, HasSubstr("run-new  running  1.00 s   python    uid:1000  "
                              "default  ses-1\n"));
  EXPECT_THAT(text, HasSubstr("run-done  TIMEOUT  2.00 s"));
  EXPECT_THAT(text, HasSubstr("ses-1    active  12 MiB  1m5s"));
}

TEST(TopScreenTest, WhatRunsLongestComesFirstAndWhatWaitsLast) {
  const std::string text = TextOf(TopLines(nullptr, Busy(), "", {}));
  EXPECT_LT(text.find("run-old"), text.find("run-new"));
  EXPECT_LT(text.find("run-new"), text.find("run-q"));
}

TEST(TopScreenTest, RatesAreOfTheTimeBetweenTwoLooks) {
  const TopSnapshot before = Busy();
  TopSnapshot now = Busy();
  now.status.mutable_uptime()->set_seconds(7502);
  now.status.mutable_runs(0)->set_runs(1025);
  now.status.mutable_errors(0)->set_calls(13);
  EXPECT_THAT(TextOf(TopLines(&before, now, "", {})),
              HasSubstr("runs 12/s  errors 0.5/s  "));
  EXPECT_THAT(TextOf(TopLines(nullptr, now, "", {})),
              HasSubstr("runs -  errors -  "));
}

TEST(TopScreenTest, ARestartHasNoRates) {
  const TopSnapshot before = Busy();
  TopSnapshot now;
  now.status.mutable_uptime()->set_seconds(1);
  EXPECT_THAT(TextOf(TopLines(&before, now, "", {})),
              HasSubstr("runs -  errors -  "));
  // Even one that has been up longer than the other had.
  now.status.mutable_uptime()->set_seconds(9999);
  EXPECT_THAT(TextOf(TopLines(&before, now, "", {})),
              HasSubstr("runs -  errors -  "));
}

TEST(TopScreenTest, TroubleAndWhatFailsAreSaid) {
  TopSnapshot now = Busy();
  now.status.set_ready(false);
  now.status.mutable_conditions(0)->set_holds(false);
  const std::vector<ScreenLine> lines =
      TopLines(nullptr, now, "no answer", {30, 80});
  EXPECT_THAT(lines[0].text, HasSubstr("NOT READY"));
  EXPECT_EQ(lines[1].text, "no answer");
  EXPECT_EQ(lines[2].text, "fails: languages: 12 can be used");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i].look, ScreenLine::Look::kAlert);
  }
}

TEST(TopScreenTest, AnIdleDaemonHasAScreenToo) {
  const std::string text = TextOf(TopLines(nullptr, TopSnapshot(), "", {}));
  EXPECT_THAT(text, HasSubstr("none goes on\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("POOL")), Not(HasSubstr("ENDED")),
                          Not(HasSubstr("\nSESSION"))));
}

TEST(TopScreenTest, FitsEveryTerminal) {
  TopSnapshot now = Busy();
  for (int i = 0; i < 100; ++i) {
    *now.active.add_runs() =
        RunOf("run-0123456789abcdef", v1::RUN_STATE_RUNNING, 100 - i);
    *now.ended.add_runs() = RunOf("漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
                                  v1::RUN_STATE_FINISHED, i);
  }
  now.status.mutable_conditions(0)->set_holds(false);
  for (const size_t columns : {1u, 2u, 5u, 10u, 20u, 40u, 80u, 200u}) {
    for (const size_t rows : {1u, 2u, 3u, 5u, 10u, 24u, 60u}) {
      const std::vector<ScreenLine> lines =
          TopLines(nullptr, now, "no answer since then", {rows, columns});
      EXPECT_LE(lines.size(), rows);
      for (const ScreenLine& line : lines) {
        EXPECT_LE(DisplayWidth(line.text), columns) << line.text;
      }
    }
  }
}

TEST(TopScreenTest, TwentyColumnsHaveIdsAndTimes) {
  const std::string text = TextOf(TopLines(nullptr, Busy(), "", {60, 20}));
  EXPECT_THAT(text, HasSubstr("RUN      ELAPSED\n"
                              "run-old  60.00 s\n"));
}

TEST(TopScreenTest, SaysHowManyItHasNoRoomFor) {
  TopSnapshot now = Busy();
  for (int i = 0; i < 97; ++i) {
    *now.active.add_runs() = RunOf("run-x", v1::RUN_STATE_RUNNING, 0);
  }
  const std::vector<ScreenLine> lines = TopLines(nullptr, now, "", {24, 80});
  EXPECT_THAT(lines, SizeIs(24));
  EXPECT_THAT(TextOf(lines), HasSubstr(" more\n"));
  // The others keep their rows.
  EXPECT_THAT(TextOf(lines), AllOf(HasSubstr("run-done"), HasSubstr("ses-1  "),
                                   HasSubstr("python-lean")));
}

TEST(TopScreenTest, NamesCantDoAnythingToATerminal) {
  TopSnapshot now = Busy();
  const std::string nasty = "x\x1b[2J\r\n";
  now.status.set_version(nasty);
  now.status.mutable_pool(0)->set_kind(nasty);
  v1::RunSummary& run = *now.active.mutable_runs(0);
  run.set_run_id(nasty);
  run.set_language(nasty);
  run.set_caller(nasty);
  run.set_profile(nasty);
  run.set_session_id(nasty);
  *now.ended.add_runs() = run;
  now.sessions.mutable_sessions(0)->set_session_id(nasty);
  now.sessions.mutable_sessions(0)->set_caller(nasty);
  for (const ScreenLine& line : TopLines(nullptr, now, nasty, {60, 120})) {
    for (const char c : line.text) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != 0x7f)
          << line.text;
    }
  }
}

TEST(FullScreenTest, DrawsOverTheOldScreen) {
  const std::string text = DrawnText({{"a", ScreenLine::Look::kPlain},
                                      {"b", ScreenLine::Look::kTitle},
                                      {"c", ScreenLine::Look::kAlert}});
  // Nothing is cleared before it is written, and no line is begun below.
  EXPECT_EQ(text,
            "\x1b[?2026h\x1b[Ha\x1b[K\r\n\x1b[1mb\x1b[0m\x1b[K\r\n"
            "\x1b[7mc\x1b[0m\x1b[K\x1b[J\x1b[?2026l");
}

}  // namespace
}  // namespace sandglass::client
