#include "client/run/verdict_line.h"

#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(VerdictLineTest, SaysThatAllWentWell) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: OK after 12.3 ms (run r-1)");
  response.mutable_usage()->set_peak_memory_bytes(12 << 20);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: OK after 12.3 ms, peak memory 12 MiB (run r-1)");
}

TEST(VerdictLineTest, SaysWhatTheCompilerTook) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_compile()->mutable_usage()->mutable_wall_time()->set_seconds(
      2);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: OK after 12.3 ms (compiled in 2.00 s) (run r-1)");
  response.mutable_compile()->clear_usage();
  response.mutable_compile()->set_cached(true);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: OK after 12.3 ms (compiled before) (run r-1)");
}

TEST(VerdictLineTest, GivesTheEvidenceAndTheKiller) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_TIMEOUT);
  response.mutable_usage()->mutable_wall_time()->set_seconds(5);
  response.mutable_usage()->mutable_wall_time()->set_nanos(0);
  response.mutable_evidence()->set_explanation("wall time limit 5 s passed.");
  response.mutable_evidence()->set_killed_by(v1::KILLER_DAEMON);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: TIMEOUT after 5.00 s: wall time limit 5 s passed; "
            "killed by the daemon (run r-1)");
  // A cell that heeded its interrupt left its kernel alive.
  response.mutable_session()->set_session_id("ses-1");
  EXPECT_THAT(VerdictLine(response, Colour::kOff),
              ::testing::HasSubstr("; interrupted by the daemon (run r-1)"));
  response.mutable_session()->set_kernel_ended(true);
  EXPECT_THAT(VerdictLine(response, Colour::kOff),
              ::testing::HasSubstr("; killed by the daemon (run r-1)"));
}

TEST(VerdictLineTest, DoesNotSayTwiceWhoKilled) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_MEMORY_LIMIT);
  response.mutable_evidence()->set_explanation("The kernel killed a process.");
  response.mutable_evidence()->set_killed_by(v1::KILLER_KERNEL_OOM);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: MEMORY_LIMIT after 12.3 ms: The kernel killed a "
            "process (run r-1)");
}

TEST(VerdictLineTest, NamesExitCodeAndSignal) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_NONZERO_EXIT);
  response.set_exit_code(3);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: NONZERO_EXIT 3 after 12.3 ms (run r-1)");
  response = ResponseWith(v1::OUTCOME_SIGNALED);
  response.mutable_signal()->set_number(11);
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: SIGNALED 11 after 12.3 ms (run r-1)");
  response.mutable_signal()->set_name("SIGSEGV");
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: SIGNALED SIGSEGV after 12.3 ms (run r-1)");
}

TEST(VerdictLineTest, IsOneHarmlessLineWhateverTheDaemonSends) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_DISK_LIMIT);
  response.set_run_id("r\x1b[2J");
  response.mutable_evidence()->set_explanation("two\nlines\x1b]0;x\x07");
  EXPECT_EQ(VerdictLine(response, Colour::kOff),
            "sandglass: DISK_LIMIT after 12.3 ms: "
            "two\\x0alines\\x1b]0;x\\x07 (run r\\x1b[2J)");
}

TEST(VerdictLineTest, ColoursOnlyTheOutcome) {
  EXPECT_EQ(VerdictLine(ResponseWith(v1::OUTCOME_OK), Colour::kOn),
            "sandglass: \x1b[32mOK\x1b[0m after 12.3 ms (run r-1)");
  EXPECT_EQ(VerdictLine(ResponseWith(v1::OUTCOME_SHUTDOWN), Colour::kOn),
            "sandglass: \x1b[31mSHUTDOWN\x1b[0m after 12.3 ms (run r-1)");
}

TEST(NoteLinesTest, AreEmptyForAnOrdinaryRun) {
  EXPECT_THAT(NoteLines(ResponseWith(v1::OUTCOME_OK)), IsEmpty());
}

TEST(NoteLinesTest, TellWhatElseIsWorthKnowing) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.set_replayed(true);
  v1::LimitReading& memory = *response.mutable_evidence()->add_limits_touched();
  memory.set_kind(v1::LIMIT_KIND_MEMORY);
  memory.set_configured(256 << 20);
  response.mutable_evidence()->add_limits_touched()->set_kind(
      static_cast<v1::LimitKind>(77));
  response.mutable_evidence()->set_leftover_processes(2);
  response.add_hints()->set_message("network is off\nin this profile");
  EXPECT_THAT(
      NoteLines(response),
      ElementsAre(
          "sandglass: this is the answer of an earlier call with the same "
          "--request-id",
          "sandglass: limit touched: memory (256 MiB)",
          "sandglass: limit touched: limit 77",
          "sandglass: 2 processes were left running at the program's end and "
          "killed",
          "sandglass: hint: network is off\\x0ain this profile"));
}

TEST(InterruptedLineTest, NamesSignalTimeAndRun) {
  EXPECT_EQ(InterruptedLine(SIGINT, absl::Seconds(2), "r-9", Colour::kOff),
            "sandglass: CANCELLED after 2.00 s: Ctrl-C here; the daemon was "
            "told to stop the run (run r-9)");
  EXPECT_EQ(InterruptedLine(SIGTERM, absl::Seconds(2), "", Colour::kOff),
            "sandglass: CANCELLED after 2.00 s: SIGTERM here; the call to "
            "the daemon was cancelled");
}

}  // namespace
}  // namespace sandglass::client
