#include "client/operator/status_text.h"

#include <string>

#include "absl/strings/str_split.h"
#include "client/base/text_fit.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_operator.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(StatusTextTest, SaysThatADaemonDoesWell) {
  const std::string text = StatusText(FakeStatus(), 0);
  EXPECT_THAT(text, StartsWith("sandglassd 0.1.0 is ready, up 2h5m\n"
                               "  ok     languages  12 can be used (since "));
  EXPECT_THAT(text, HasSubstr(", 2h)\n  ok     audit      written"));
  EXPECT_THAT(text, HasSubstr("1 of 8 running, 0 of 64 queued\n"));
  EXPECT_THAT(text, HasSubstr("256 MiB of 4 GiB reserved\n"));
  EXPECT_THAT(text, HasSubstr("sessions  3, 1 command in them\n"));
  EXPECT_THAT(text, HasSubstr("\n\nSince the start\n"
                              "  runs    1204: 1200 OK, 4 TIMEOUT\n"
                              "          1004 python, 200 bash\n"));
  EXPECT_THAT(text, HasSubstr("13: 12 QUEUE_FULL, 1 INTERNAL\n"));
  EXPECT_THAT(text, HasSubstr("audit   1204 lines\n"));
  EXPECT_THAT(text, HasSubstr("64 MiB, 30 of 1024 fds, 21 threads\n"));
  EXPECT_THAT(text, HasSubstr("1 warning, 0 errors\n"));
  EXPECT_THAT(text, HasSubstr("http://127.0.0.1:9464/metrics\n"));
  EXPECT_THAT(text, Not(HasSubstr("FAILS")));
}

TEST(StatusTextTest, IsNotSimplyReadyWithWhatAnOperatorNeedsToKnow) {
  v1::GetStatusResponse status = FakeStatus();
  v1::Condition& policy = *status.add_conditions();
  policy.set_name("policy");
  policy.set_detail("the last reload failed: bad.json");
  EXPECT_THAT(
      StatusText(status, 0),
      StartsWith("sandglassd 0.1.0 is ready, but not all is well, up 2h5m\n"
                 "  FAILS  policy     the last reload failed: bad.json; calls "
                 "are served all the same\n"));
}

TEST(StatusTextTest, PoolsOfOneKindAreOneLine) {
  EXPECT_THAT(StatusText(FakeStatus(), 0),
              HasSubstr("python-lean: 4 of 6 ready, 1000 hits, 4 misses\n"));
}

TEST(StatusTextTest, YardsSayWhatIsLeftBehind) {
  EXPECT_THAT(
      StatusText(FakeStatus(), 0),
      HasSubstr("python-lean: 5 jails, 1 spare, 2 ending (longest for 3.00 "
                "s), 8 groups (1 STRAY), 12 processes, 40 fds, 60 mounts, 3 "
                "zygotes started, 1 died\n"));
}

TEST(StatusTextTest, WhatFailsComesFirstWithWhatItStops) {
  v1::GetStatusResponse status = FakeStatus();
  status.set_ready(false);
  v1::Condition& audit = *status.mutable_conditions(1);
  audit.set_holds(false);
  audit.set_detail("No space left on device");
  audit.add_services("sandglass.v1.SandboxService");
  status.mutable_audit()->set_failure("No space left on device");
  status.mutable_audit()->set_lost_lines(3);
  const std::string text = StatusText(status, 0);
  EXPECT_THAT(text,
              StartsWith("sandglassd 0.1.0 is NOT READY, up 2h5m\n"
                         "  FAILS  audit      No space left on device (since"));
  EXPECT_THAT(text, HasSubstr(", 1m); not served: SandboxService\n"));
  EXPECT_THAT(text, HasSubstr("1204 lines, 3 LOST, CAN'T BE WRITTEN (runs are "
                              "refused): No space left on device\n"));
  audit.clear_services();
  EXPECT_THAT(StatusText(status, 0),
              HasSubstr("; calls are served all the same\n"));
}

TEST(StatusTextTest, SaysThatADaemonIsEnding) {
  v1::GetStatusResponse status = FakeStatus();
  status.set_draining(true);
  EXPECT_THAT(StatusText(status, 0),
              HasSubstr("is ready, ending: it takes no more calls, up"));
}

TEST(StatusTextTest, AnIdleDaemonHasAScreenToo) {
  const std::string text = StatusText(v1::GetStatusResponse(), 80);
  EXPECT_THAT(text,
              AllOf(HasSubstr("runs    none\n"), HasSubstr("errors  none\n"),
                    HasSubstr("audit   none is written\n"),
                    HasSubstr("metrics   not served\n")));
}

TEST(StatusTextTest, NoLineIsLongerThanTheTerminal) {
  v1::GetStatusResponse status = FakeStatus();
  status.mutable_conditions(0)->set_holds(false);
  for (size_t width = 1; width <= 100; ++width) {
    for (const absl::string_view line :
         absl::StrSplit(StatusText(status, width), '\n')) {
      // Narrower than its indentation there is nothing to be had.
      EXPECT_LE(DisplayWidth(line), std::max<size_t>(width, 5)) << line;
    }
  }
}

TEST(StatusTextTest, ShowsNoControlCharacters) {
  v1::GetStatusResponse status = FakeStatus();
  const std::string nasty = "a\x1b[2J\n";
  status.set_version(nasty);
  status.mutable_conditions(0)->set_name(nasty);
  status.mutable_conditions(0)->set_detail(nasty);
  status.mutable_conditions(0)->set_holds(false);
  status.mutable_conditions(0)->add_services(nasty);
  status.mutable_pool(0)->set_kind(nasty);
  status.mutable_runs(0)->set_language(nasty);
  status.mutable_errors(0)->set_reason(nasty);
  status.mutable_yards(0)->set_kind(nasty);
  status.mutable_audit()->set_failure(nasty);
  status.set_metrics_address(nasty);
  EXPECT_THAT(StatusText(status, 40), Not(HasSubstr("\x1b")));
  EXPECT_THAT(StatusText(status, 0), HasSubstr("a\\x1b[2J\\x0a"));
}

}  // namespace
}  // namespace sandglass::client
