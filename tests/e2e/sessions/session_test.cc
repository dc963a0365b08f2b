// Sessions: Python that keeps its state.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Stub = v1::SessionService::Stub;

class Sessions : public DaemonTest {
 protected:
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }
  template <typename Request>
  static Request Named(const std::string& id) {
    Request request;
    request.set_session_id(id);
    return request;
  }
};

TEST_F(Sessions, StateStaysBetweenRuns) {
  TestSession session(client());
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_THAT(session.id(), StartsWith("ses-"));
  RunResult result = session.Run("import os\nx = 20\nos.chdir('/tmp')");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.results_size(), 0);
  EXPECT_EQ(result.response.session().run_number(), 1u);
  EXPECT_EQ(result.response.language(), "python");
  result = session.Run("print(os.getcwd())\nx + 22");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "/tmp\n");
  EXPECT_EQ(ValueOf(result.response), "42");
  EXPECT_EQ(result.response.session().run_number(), 2u);
  EXPECT_EQ(result.response.session().session_id(), session.id());
  EXPECT_TRUE(result.response.session().has_expire_time());
  EXPECT_TRUE(result.response.timings().warm());
  EXPECT_FALSE(result.response.session().kernel_ended());
}

TEST_F(Sessions, AnErrorIsToldByItsPartsAndKeepsTheState) {
  TestSession session(client());
  RunResult result = session.Run("x = 1\nprint('before')\n1 / 0");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 1);
  EXPECT_EQ(result.response.error().name(), "ZeroDivisionError");
  EXPECT_EQ(result.response.error().value(), "division by zero");
  EXPECT_THAT(result.response.error().traceback(), HasSubstr("1 / 0"));
  EXPECT_EQ(result.response.stdout().data(), "before\n");
  EXPECT_THAT(result.response.stderr().data(), IsEmpty());
  result = session.Run("x");
  EXPECT_EQ(ValueOf(result.response), "1");
}

TEST_F(Sessions, TheWallLimitInterruptsTheCellAndKeepsTheState) {
  TestSession session(client());
  ASSERT_THAT(session.Run("x = 7"), OutcomeIs(v1::OUTCOME_OK));
  for (const char* code :
       {"import time\ntime.sleep(60)", "while True: pass",
        "import subprocess\nsubprocess.run(['sleep', '60'])"}) {
    SCOPED_TRACE(code);
    const RunResult result =
        client().Run(WithWall(session.Cell(code), absl::Milliseconds(500)));
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
    EXPECT_FALSE(result.response.session().kernel_ended());
    EXPECT_LT(result.elapsed, absl::Seconds(10));
    EXPECT_EQ(ValueOf(session.Run("x").response), "7");
  }
}

TEST_F(Sessions, AKernelThatCantBeInterruptedIsKilledAndToldOf) {
  TestSession session(client());
  ASSERT_THAT(session.Run("open('kept', 'w').write('file')\nx = 7"),
              OutcomeIs(v1::OUTCOME_OK));
  const RunResult stuck = client().Run(
      WithWall(session.Cell("import signal\nsignal.signal(signal.SIGINT, "
                            "signal.SIG_IGN)\nwhile True: pass"),
               absl::Milliseconds(500)));
  ASSERT_THAT(stuck, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_TRUE(stuck.response.session().kernel_ended());
  const RunResult after =
      session.Run("print(open('kept').read())\n'x' in dir()");
  ASSERT_THAT(after, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(after.response.stdout().data(), "file\n");
  EXPECT_EQ(ValueOf(after.response), "False");
  EXPECT_THAT(after.response.session().state_lost(), HasSubstr("wall time"));
  EXPECT_EQ(after.response.session().run_number(), 1u);
  EXPECT_THAT(session.Run("1").response.session().state_lost(), IsEmpty());
}

TEST_F(Sessions, AKernelThatDiesIsReportedAndStartsAgain) {
  TestSession session(client());
  struct Death {
    const char* code;
    v1::Outcome outcome;
  };
  for (const Death& death : std::vector<Death>{
           {"import os\nos._exit(5)", v1::OUTCOME_NONZERO_EXIT},
           {"import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
            v1::OUTCOME_SIGNALED},
           {"x = bytearray(2_000_000_000)\nfor i in range(0, len(x), 4096): "
            "x[i] = 1",
            v1::OUTCOME_MEMORY_LIMIT}}) {
    SCOPED_TRACE(death.code);
    const RunResult result = session.Run(death.code);
    ASSERT_THAT(result, OutcomeIs(death.outcome));
    EXPECT_TRUE(result.response.session().kernel_ended());
    const RunResult after = session.Run("40 + 2");
    EXPECT_EQ(ValueOf(after.response), "42");
    EXPECT_THAT(after.response.session().state_lost(), Not(IsEmpty()));
  }
  v1::Session described;
  ASSERT_THAT(session.Get(&described), IsOk());
  ASSERT_EQ(described.kernels_size(), 1);
  EXPECT_EQ(described.kernels(0).restarts(), 3u);
  EXPECT_EQ(described.kernels(0).state(), v1::KERNEL_STATE_IDLE);
}

TEST_F(Sessions, ContextsHaveStatesOfTheirOwn) {
  TestSession session(client());
  ASSERT_THAT(session.Run("x = 'default'"), OutcomeIs(v1::OUTCOME_OK));
  ASSERT_THAT(session.Run("x = 'other'", "second"), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(session.Run("x").response), "'default'");
  EXPECT_EQ(ValueOf(session.Run("x", "second").response), "'other'");
  // They share the files.
  ASSERT_THAT(session.Run("open('f', 'w').write('1')"),
              OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(session.Run("open('f').read()", "second").response), "'1'");
  // One that is busy does not hold the other up.
  StreamCall slow(client().stub(),
                  session.Cell("print('on', flush=True)\nimport time\n"
                               "time.sleep(20)"));
  ASSERT_TRUE(slow.ReadUntil("on"));
  EXPECT_EQ(ValueOf(session.Run("1 + 1", "second").response), "2");
}

TEST_F(Sessions, RunsOfOneContextGoInOrder) {
  TestSession session(client());
  ASSERT_THAT(session.Run("log = []"), OutcomeIs(v1::OUTCOME_OK));
  std::vector<std::unique_ptr<StreamCall>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::make_unique<StreamCall>(
        client().stub(),
        session.Cell(absl::StrCat("import time\ntime.sleep(0.05)\nlog.append(",
                                  i, ")"))));
    // The order of arrival is what counts, so each must have arrived.
    ASSERT_TRUE(WaitUntil(
        [&] {
          v1::ListRunsResponse runs;
          client().List({}, &runs);
          return std::count_if(runs.runs().begin(), runs.runs().end(),
                               [&](const v1::RunSummary& run) {
                                 return run.session_id() == session.id();
                               }) >= i + 2;
        },
        absl::Seconds(10)));
  }
  for (auto& call : calls) EXPECT_THAT(call->Finish(), IsOk());
  EXPECT_EQ(ValueOf(session.Run("log").response), "[0, 1, 2, 3, 4, 5, 6, 7]");
}

TEST_F(Sessions, ACancelledRunIsInterruptedAndOneThatWaitsNeverStarts) {
  TestSession session(client());
  ASSERT_THAT(session.Run("x = []"), OutcomeIs(v1::OUTCOME_OK));
  StreamCall first(client().stub(),
                   session.Cell("print('on', flush=True)\nimport time\n"
                                "time.sleep(30)"));
  ASSERT_TRUE(first.ReadUntil("on"));
  const auto runs_are = [&](auto&& such, int count) {
    return WaitUntil(
        [&] {
          v1::ListRunsResponse runs;
          client().List({}, &runs);
          return std::ranges::count_if(runs.runs(), such) >= count;
        },
        absl::Seconds(10));
  };
  StreamCall second(client().stub(), session.Cell("x.append('second')"));
  ASSERT_TRUE(runs_are([](const auto&) { return true; }, 3));
  second.Cancel();
  ASSERT_TRUE(runs_are(
      [](const auto& run) { return run.outcome() == v1::OUTCOME_CANCELLED; },
      1));
  v1::CancelRunResponse cancelled;
  ASSERT_THAT(client().CancelRun(first.run_id(), &cancelled), IsOk());
  EXPECT_THAT(first.Finish(), IsOk());
  EXPECT_EQ(first.result()->outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_EQ(ValueOf(session.Run("x").response), "[]");
}

TEST_F(Sessions, KernelsAreInterruptedAndRestarted) {
  TestSession session(client());
  ASSERT_THAT(session.Run("x = 1"), OutcomeIs(v1::OUTCOME_OK));
  v1::InterruptKernelResponse interrupted;
  ASSERT_THAT(CallSessions(client(), &Stub::InterruptKernel,
                           Named<v1::InterruptKernelRequest>(session.id()),
                           &interrupted),
              IsOk());
  EXPECT_FALSE(interrupted.interrupted());
  StreamCall call(client().stub(),
                  session.Cell("print('on', flush=True)\nimport time\n"
                               "time.sleep(30)"));
  ASSERT_TRUE(call.ReadUntil("on"));
  ASSERT_THAT(CallSessions(client(), &Stub::InterruptKernel,
                           Named<v1::InterruptKernelRequest>(session.id()),
                           &interrupted),
              IsOk());
  EXPECT_TRUE(interrupted.interrupted());
  EXPECT_THAT(call.Finish(), IsOk());
  EXPECT_EQ(call.result()->outcome(), v1::OUTCOME_NONZERO_EXIT);
  EXPECT_EQ(call.result()->error().name(), "KeyboardInterrupt");
  EXPECT_EQ(ValueOf(session.Run("x").response), "1");

  v1::RestartKernelResponse restarted;
  ASSERT_THAT(
      CallSessions(client(), &Stub::RestartKernel,
                   Named<v1::RestartKernelRequest>(session.id()), &restarted),
      IsOk());
  const RunResult after = session.Run("'x' in dir()");
  EXPECT_EQ(ValueOf(after.response), "False");
  EXPECT_THAT(after.response.session().state_lost(), HasSubstr("restarted"));
}

TEST_F(Sessions, PauseStopsItsProcessesUntilTheNextUse) {
  TestSession session(client());
  ASSERT_THAT(
      session.Run("import threading, time\ncount = 0\ndef work():\n  global "
                  "count\n  while True:\n    count += 1\n    "
                  "time.sleep(0.01)\nthreading.Thread(target=work, "
                  "daemon=True).start()"),
      OutcomeIs(v1::OUTCOME_OK));
  v1::PauseSessionResponse paused;
  ASSERT_THAT(
      CallSessions(client(), &Stub::PauseSession,
                   Named<v1::PauseSessionRequest>(session.id()), &paused),
      IsOk());
  EXPECT_EQ(paused.session().state(), v1::SESSION_STATE_PAUSED);
  absl::SleepFor(absl::Seconds(2));
  const RunResult result = session.Run("count");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  // It counts a hundred times a second, when it runs.
  EXPECT_LT(std::stoi(ValueOf(result.response)), 120);
  v1::Session described;
  ASSERT_THAT(session.Get(&described), IsOk());
  EXPECT_EQ(described.state(), v1::SESSION_STATE_ACTIVE);
  // Not while a run goes on.
  StreamCall call(client().stub(),
                  session.Cell("print('on', flush=True)\ntime.sleep(30)"));
  ASSERT_TRUE(call.ReadUntil("on"));
  const grpc::Status busy =
      CallSessions(client(), &Stub::PauseSession,
                   Named<v1::PauseSessionRequest>(session.id()), &paused);
  EXPECT_THAT(busy, StatusIs(grpc::StatusCode::FAILED_PRECONDITION));
  EXPECT_EQ(ReasonOf(busy), "SESSION_BUSY");
}

TEST_F(Sessions, EnvironmentAndLimitsAreTheSessionsAndRunsStayWarm) {
  v1::CreateSessionRequest request = PythonSession();
  (*request.mutable_env())["TOKEN"] = "abc";
  request.mutable_limits()->mutable_wall_time()->set_seconds(5);
  TestSession session(client(), request);
  const RunResult result = session.Run("import os\nos.environ['TOKEN']");
  EXPECT_EQ(ValueOf(result.response), "'abc'");
  EXPECT_TRUE(result.response.timings().warm());
  EXPECT_EQ(result.response.timings().kind(), "python-lean");
  EXPECT_EQ(result.response.limits().wall_time().seconds(), 5);
}

TEST_F(Sessions, StdinAndOutputLimitsAreEachRuns) {
  TestSession session(client());
  v1::RunCodeRequest cell = session.Cell("print(input())");
  cell.set_stdin("given\n");
  EXPECT_EQ(Run(cell).response.stdout().data(), "given\n");
  EXPECT_EQ(session.Run("input()").response.error().name(), "EOFError");
  cell = session.Cell("while True: print('x' * 1000)");
  cell.mutable_limits()->set_output_total_bytes(100'000);
  EXPECT_THAT(Run(cell), OutcomeIs(v1::OUTCOME_OUTPUT_LIMIT));
  EXPECT_EQ(ValueOf(session.Run("1 + 1").response), "2");
}

TEST_F(Sessions, ResultsStreamBetweenTheOutput) {
  TestSession session(client());
  const StreamResult streamed = client().Stream(
      session.Cell("print('one')\ndisplay({'a': 1})\nprint('two')\n'last'"));
  ASSERT_THAT(streamed, IsOk());
  std::string order;
  for (const v1::StreamRunCodeResponse& event : streamed.events) {
    if (event.has_chunk()) absl::StrAppend(&order, event.chunk().data());
    if (event.has_rich()) {
      absl::StrAppend(&order, "[", event.rich().data(0).data(), "]");
    }
  }
  EXPECT_EQ(order, "one\n[{'a': 1}]two\n['last']");
  ASSERT_NE(streamed.result(), nullptr);
  ASSERT_EQ(streamed.result()->results_size(), 2);
  EXPECT_EQ(streamed.result()->results(0).stdout_offset(), 4u);
  EXPECT_EQ(streamed.result()->results(1).stdout_offset(), 8u);
}

TEST_F(Sessions, FiguresAndTablesComeAsResults) {
  TestSession session(client());
  const RunResult plot = session.Run(
      "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()");
  ASSERT_THAT(plot, OutcomeIs(v1::OUTCOME_OK));
  bool found = false;
  for (const v1::RichResult& result : plot.response.results()) {
    for (const v1::MimeData& data : result.data()) {
      if (data.mime_type() != "image/png") continue;
      found = true;
      EXPECT_THAT(data.data(), StartsWith("\x89PNG\r\n"));
      EXPECT_GT(data.data().size(), 1000u);
    }
  }
  EXPECT_TRUE(found);
  const RunResult table =
      session.Run("import pandas\npandas.DataFrame({'a': [1, 2]})");
  ASSERT_THAT(table, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(ValueOf(table.response, "text/html"), HasSubstr("<table"));
  EXPECT_THAT(ValueOf(table.response), HasSubstr("0  1"));
}

TEST_F(Sessions, AValueThatIsInvalidForItsTypeIsLeftOutAlone) {
  TestSession session(client());
  const RunResult result = session.Run(
      "x = 5\ndisplay({'image/png': 'not base64!', 'text/plain': 'kept'}, "
      "raw=True)\ndisplay({'application/x-thing': '*'}, raw=True)");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  ASSERT_EQ(result.response.results_size(), 1);
  EXPECT_EQ(result.response.results(0).data(0).data(), "kept");
  EXPECT_EQ(result.response.results_dropped(), 2u);
  EXPECT_EQ(ValueOf(session.Run("x").response), "5");
}

TEST_F(Sessions, AKernelThatSpeaksNonsenseEndsAndTheSessionGoesOn) {
  for (const char* words :
       {"b'nonsense\\n'", "b'x' * (13 << 20)", "b'[' * 100_000 + b'\\n'"}) {
    SCOPED_TRACE(words);
    // Its first kernel is a zygote's child, which tells its events there.
    TestSession session(client());
    const RunResult result = session.Run(
        absl::StrCat("import os, time\ndef say(text):\n  while text: text = "
                     "text[os.write(254, text):]\nsay(",
                     words, ")\ntime.sleep(20)"));
    EXPECT_THAT(result, StatusIs(grpc::StatusCode::INTERNAL));
    const RunResult after = session.Run("40 + 2");
    EXPECT_EQ(ValueOf(after.response), "42");
    EXPECT_THAT(after.response.session().state_lost(), Not(IsEmpty()));
  }
  // Asking for acknowledgements that it never reads gets it nothing.
  TestSession session(client());
  const RunResult flood = client().Run(WithWall(
      session.Cell("import os\nline = "
                   "b'{\"ev\":\"display\",\"id\":1,\"kind\":\"x\",\"data\":{},"
                   "\"ack\":true}\\n' * 500\nwhile True: os.write(254, line)"),
      absl::Seconds(1)));
  EXPECT_THAT(flood, OutcomeIs(v1::OUTCOME_TIMEOUT));
}

TEST_F(Sessions, ARepeatGetsTheFirstAnswer) {
  TestSession session(client());
  ASSERT_THAT(session.Run("x = 0"), OutcomeIs(v1::OUTCOME_OK));
  v1::RunCodeRequest cell = session.Cell("x += 1\nx");
  cell.set_request_id(MakeMarker());
  EXPECT_EQ(ValueOf(Run(cell).response), "1");
  const RunResult repeat = Run(cell);
  EXPECT_EQ(ValueOf(repeat.response), "1");
  EXPECT_TRUE(repeat.response.replayed());
}

}  // namespace
}  // namespace sandglass::testing
