// Processes whose main thread has ended while another goes on. cgroup.kill of
// Linux 6.18 passes over them; they are to end all the same, as soon as others
// do and with the verdict that others get.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/matchers.h"
#include "tests/support/slowdown.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kWall = absl::Seconds(1);

// From a limit to the answer. Who gave up after ten seconds is beyond that.
absl::Duration Prompt() { return absl::Seconds(5) * Slowdown(); }

// An interpreter that does it itself: number 60 of x86-64 is exit(2), which
// ends one thread.
constexpr char kPythonWithoutHead[] = R"(
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
print('up', flush=True)
ctypes.CDLL(None).syscall(60, 0)
)";
constexpr char kRubyWithoutHead[] = R"(
Thread.new { sleep 1000 }
puts 'up'
$stdout.flush
syscall 60, 0
)";

class HostileHeadless : public HostileTest {
 protected:
  static v1::RunCodeRequest Headless(Way way, const std::string& body) {
    return WithWall(Payload(way, {"headless", body}), kWall);
  }

  static void ExpectPrompt(const RunResult& result, const std::string& what) {
    EXPECT_LT(result.elapsed, kWall + Prompt()) << what;
  }

  static std::unique_ptr<v1::ExecService::Stub> Execs() {
    return v1::ExecService::NewStub(grpc::CreateChannel(
        daemon().address(), grpc::InsecureChannelCredentials()));
  }
};

TEST_F(HostileHeadless, EndsAtTheWallLimitHoweverItBegan) {
  std::vector<v1::RunCodeRequest> requests;
  std::vector<std::string> names;
  for (const Way way : kAllWays) {
    for (const char* body : {"sleep", "spin"}) {
      requests.push_back(Headless(way, body));
      names.push_back(absl::StrCat(NameOf(way), " ", body));
    }
  }
  const std::vector<RunResult> results = client().RunAll(requests, 4);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_THAT(results[i], OutcomeIs(v1::OUTCOME_TIMEOUT)) << names[i];
    ExpectPrompt(results[i], names[i]);
  }
}

TEST_F(HostileHeadless, ARunnerEndsAtTheWallLimit) {
  for (const auto& [language, code] : {std::pair("python", kPythonWithoutHead),
                                       std::pair("ruby", kRubyWithoutHead)}) {
    const RunResult result = Run(WithWall(Program(language, code), kWall));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT)) << language;
    EXPECT_EQ(result.response.stdout().data(), "up\n") << language;
    ExpectPrompt(result, language);
  }
}

TEST_F(HostileHeadless, EndsAtTheOutputLimit) {
  v1::RunCodeRequest request =
      WithWall(Payload(Way::kExec, {"headless", "write"}), absl::Seconds(20));
  request.mutable_limits()->set_output_total_bytes(1 << 20);
  const RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OUTPUT_LIMIT));
  ExpectPrompt(result, "write");
}

TEST_F(HostileHeadless, EndsAtTheProcessorTimeLimit) {
  v1::RunCodeRequest request =
      WithWall(Payload(Way::kExec, {"headless", "spin"}), absl::Seconds(20));
  SetDuration(request.mutable_limits()->mutable_cpu_time(),
              absl::Milliseconds(500));
  const RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_CPU_LIMIT));
}

TEST_F(HostileHeadless, ProcessesLeftBehindByAGoodProgramEnd) {
  for (const Way way : kAllWays) {
    v1::RunCodeRequest request = Payload(way, {"headless", "leave"});
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT)) << NameOf(way);
    EXPECT_EQ(result.response.exit_code(), Refused(0)) << NameOf(way);
    ExpectPrompt(result, NameOf(way));
  }
}

TEST_F(HostileHeadless, EndsWhenItIsCancelled) {
  StreamCall call(client().stub(),
                  WithWall(Python(kPythonWithoutHead), absl::Seconds(20)));
  ASSERT_TRUE(call.ReadUntil("up"));
  const absl::Time asked = absl::Now();
  v1::CancelRunResponse response;
  EXPECT_THAT(client().CancelRun(call.run_id(), &response), IsOk());
  EXPECT_THAT(call.Finish(), IsOk());
  ASSERT_TRUE(call.result().has_value());
  EXPECT_EQ(call.result()->outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_LT(absl::Now() - asked, Prompt());
}

TEST_F(HostileHeadless, ProcessesThatKeepForkingEnd) {
  for (int i = 0; i < 3; ++i) {
    const RunResult result = Run(Headless(Way::kExec, "spawn"));
    // What it is told depends on which limit it meets last.
    EXPECT_THAT(result, IsOk());
    EXPECT_THAT(result.response.outcome(),
                ::testing::AnyOf(v1::OUTCOME_TIMEOUT, v1::OUTCOME_PIDS_LIMIT));
    ExpectPrompt(result, "spawn");
  }
}

// None holds a place longer than others do.
TEST_F(HostileHeadless, ManyAtOnceLeaveRoomForOthers) {
  std::vector<v1::RunCodeRequest> requests(12, Headless(Way::kExec, "sleep"));
  const absl::Time began = absl::Now();
  for (const RunResult& result : client().RunAll(requests, 12)) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  }
  EXPECT_THAT(Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_LT(absl::Now() - began, absl::Seconds(20) * Slowdown());
}

TEST_F(HostileHeadless, ACellIsEndedAndTheSessionGoesOn) {
  TestSession session(client());
  ASSERT_THAT(session.status(), IsOk());
  // The first kernel came with the jail, the second was started by init.
  for (const char* context : {"", "second"}) {
    EXPECT_THAT(client().Run(session.Cell("x = 1", context)),
                OutcomeIs(v1::OUTCOME_OK));
    const RunResult result = client().Run(
        WithWall(session.Cell(kPythonWithoutHead, context), kWall));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT)) << context;
    ExpectPrompt(result, context);
    const RunResult next = client().Run(session.Cell("print(2)", context));
    EXPECT_THAT(next, OutcomeIs(v1::OUTCOME_OK)) << context;
    EXPECT_EQ(next.response.stdout().data(), "2\n") << context;
  }
}

TEST_F(HostileHeadless, AProgramOfASessionIsEnded) {
  v1::CreateSessionRequest request;
  request.set_language("bash");
  TestSession session(client(), request);
  ASSERT_THAT(session.status(), IsOk());
  const RunResult result = client().Run(
      WithWall(session.Cell(absl::StrCat("exec python3 -c \"",
                                         kPythonWithoutHead, "\"")),
               kWall));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  ExpectPrompt(result, "program");
  EXPECT_THAT(client().Run(session.Cell("echo 2")), OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(HostileHeadless, ACommandIsEndedWithWhatItLeaves) {
  const std::unique_ptr<v1::ExecService::Stub> execs = Execs();
  TestSession session(client(), v1::CreateSessionRequest());
  ASSERT_THAT(session.status(), IsOk());
  v1::ExecSpec command =
      Argv(session.id(), {"python3", "-c", kPythonWithoutHead});
  SetDuration(command.mutable_limits()->mutable_wall_time(), kWall);
  absl::Time began = absl::Now();
  EXPECT_EQ(Execute(*execs, command).outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_LT(absl::Now() - began, kWall + Prompt());

  began = absl::Now();
  const ExecResult left = Execute(
      *execs,
      Argv(session.id(),
           {"python3", "-c",
            absl::StrCat("import os, time\n"
                         "if os.fork() > 0: time.sleep(0.5); os._exit(0)\n",
                         kPythonWithoutHead)}));
  EXPECT_EQ(left.outcome(), v1::OUTCOME_OK);
  EXPECT_LT(absl::Now() - began, Prompt());
  // Nobody is left but this.
  const ExecResult seen = Execute(
      *execs, Argv(session.id(), {"sh", "-c", "grep -l python3 /proc/*/comm"}));
  EXPECT_EQ(seen.out(), "");
}

}  // namespace
}  // namespace sandglass::testing
