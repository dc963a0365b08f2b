// Commands whose clients, sessions, jails or daemons go away, and many of them.

#include <future>
#include <string>
#include <vector>

#include "tests/e2e/exec/exec_fixture.h"
#include "tests/support/host/ancestor.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

using ::testing::IsEmpty;
using SessionStub = v1::SessionService::Stub;

class ExecFaults : public Exec {
 protected:
  template <typename Request, typename Response>
  grpc::Status CallSession(grpc::Status (SessionStub::*method)(
      grpc::ClientContext*, const Request&, Response*)) {
    Request request;
    request.set_session_id(session().id());
    Response response;
    return CallSessions(client(), method, request, &response);
  }
};

TEST_F(ExecFaults, HintsSayWhatACommandMet) {
  const auto ids = [](const ExecResult& result) {
    std::vector<std::string> found;
    for (const v1::Hint& hint : result.end->hints()) found.push_back(hint.id());
    return found;
  };
  EXPECT_THAT(ids(Execute("echo > /hello")),
              ::testing::ElementsAre("read-only-root"));
  EXPECT_THAT(ids(Execute("python3 -m pip install no-such-thing")),
              ::testing::Contains("packages"));
  EXPECT_THAT(ids(Execute("echo fine")), IsEmpty());
}

// Of a kill for memory, the session's earlier peak is not the command's.
TEST_F(ExecFaults, TheMemoryOfACommandIsItsOwnOrNone) {
  const char* const kGrow = "python3 -c \"x = b'x' * (1 << 30)\"";
  for (int i = 0; i < 2; ++i) {
    const ExecResult result = Execute(kGrow);
    EXPECT_EQ(result.outcome(), v1::OUTCOME_MEMORY_LIMIT);
    const uint64_t peak = result.end->usage().peak_memory_bytes();
    EXPECT_TRUE(peak == 0 || peak > uint64_t{128} << 20) << peak;
  }
  const ExecResult small = Execute("true");
  EXPECT_EQ(small.end->usage().peak_memory_bytes(), 0u);
}

TEST_F(ExecFaults, ACommandWithoutANameEndsWithItsClient) {
  std::string id;
  {
    ExecStream stream(execs(), StartOf(Command("echo up; sleep 1000")));
    ASSERT_TRUE(stream.ReadUntil("up"));
    id = stream.result().exec_id();
  }
  EXPECT_EQ(Ended(id).exec().end().outcome(), v1::OUTCOME_CANCELLED);

  // One call that waits is a client, too.
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  v1::StartExecRequest request;
  *request.mutable_spec() = Command("sleep 1001");
  v1::StartExecResponse response;
  EXPECT_THAT(execs().StartExec(&context, request, &response),
              StatusIs(grpc::StatusCode::DEADLINE_EXCEEDED));
  EXPECT_TRUE(
      WaitUntil([&] { return List().execs(0).state() == v1::EXEC_STATE_ENDED; },
                absl::Seconds(20)));
}

TEST_F(ExecFaults, ACommandWithANameOutlivesItsClient) {
  v1::ExecSpec spec = Command("echo up; read line; echo got $line");
  spec.set_exec_id("mine");
  spec.set_open_stdin(true);
  {
    ExecStream stream(execs(), StartOf(spec));
    ASSERT_TRUE(stream.ReadUntil("up"));
  }
  ExecStream again(execs(), StartOf(spec));
  ASSERT_TRUE(again.ReadUntil("up"));
  EXPECT_TRUE(again.result().started->joined());
  ASSERT_TRUE(again.SendStdin("it\n"));
  EXPECT_EQ(again.Finish().out(), "up\ngot it\n");
  EXPECT_EQ(again.result().outcome(), v1::OUTCOME_OK);
}

TEST_F(ExecFaults, AClientThatNeverReadsHoldsUpNobodyElse) {
  v1::ExecSpec spec = Command("yes");
  spec.mutable_terminal();
  ExecStream deaf(execs(), StartOf(spec));
  ExecStream pipe(execs(), StartOf(Background("yes")));
  absl::SleepFor(absl::Milliseconds(500));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Execute("yes 1234567 | head -c 200000").out().size(), 200'000u);
  }
  EXPECT_EQ(List().execs(List().execs_size() - 1).state(),
            v1::EXEC_STATE_RUNNING);
}

TEST_F(ExecFaults, AClientThatNeverReadsIsGivenUp) {
  const std::string id = Begin(Background("yes"));
  ExecStream deaf(execs(), AttachTo(id), absl::Minutes(3));
  ASSERT_TRUE(deaf.ReadUntil("y"));
  uint64_t before = 0;
  // Its command waits for it,
  EXPECT_TRUE(WaitUntil(
      [&] {
        const uint64_t last = before;
        before = List().execs(0).last_sequence();
        absl::SleepFor(absl::Milliseconds(200));
        return last == before;
      },
      absl::Seconds(20)));
  EXPECT_EQ(List().execs(0).attached(), 1u);
  // and then goes on without it.
  EXPECT_TRUE(WaitUntil([&] { return List().execs(0).attached() == 0; },
                        absl::Seconds(90)));
  EXPECT_TRUE(
      WaitUntil([&] { return List().execs(0).last_sequence() > before; },
                absl::Seconds(20)));
  EXPECT_THAT(deaf.Finish().status, StatusIs(grpc::StatusCode::CANCELLED));
  v1::ExecInfo info;
  EXPECT_THAT(Stop(id, absl::ZeroDuration(), &info), IsOk());
}

TEST_F(ExecFaults, ACommandEndsThoughAClientReadsNothing) {
  v1::ExecSpec spec = Background("yes & read l; exit 3");
  spec.set_open_stdin(true);
  const std::string id = Begin(spec);
  ExecStream deaf(execs(), AttachTo(id));
  ASSERT_TRUE(deaf.ReadUntil("y"));
  const size_t gaps = deaf.result().gaps.size();
  // It waits for the client, which would be given up after half a minute;
  uint64_t before = 0;
  EXPECT_TRUE(WaitUntil(
      [&] {
        const uint64_t last = before;
        before = List().execs(0).last_sequence();
        absl::SleepFor(absl::Milliseconds(200));
        return last == before;
      },
      absl::Seconds(20)));
  // its end waits for nobody.
  v1::PollExecRequest request = PollOf(id, before);
  request.set_stdin("\n");
  v1::ExecSnapshot snapshot;
  ASSERT_THAT(Poll(request, &snapshot), IsOk());
  request = PollOf(id, before);
  SetDuration(request.mutable_wait(), absl::Seconds(10));
  ASSERT_THAT(Poll(request, &snapshot), IsOk());
  EXPECT_EQ(snapshot.exec().state(), v1::EXEC_STATE_ENDED);
  EXPECT_EQ(snapshot.exec().end().exit_code(), 3);
  EXPECT_EQ(snapshot.exec().end().evidence().leftover_processes(), 1u);
  v1::ExecInfo info;
  EXPECT_THAT(Stop(id, absl::ZeroDuration(), &info), IsOk());
  EXPECT_EQ(info.state(), v1::EXEC_STATE_ENDED);
  // What was written is there for it, too, to the end.
  EXPECT_EQ(deaf.Finish().outcome(), v1::OUTCOME_NONZERO_EXIT);
  EXPECT_EQ(deaf.result().gaps.size(), gaps);
}

TEST_F(ExecFaults, CommandsBeyondTheLimitAreRefused) {
  int begun = 0;
  while (begun < 200) {
    std::vector<std::string> ids;
    ids.reserve(32);
    for (int i = 0; i < 32; ++i) ids.push_back(Begin(Background("sleep 1000")));
    v1::StartExecResponse response;
    const grpc::Status over =
        StartExec(Background("sleep 1000"), absl::ZeroDuration(), &response);
    EXPECT_THAT(over, StatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED));
    EXPECT_EQ(ReasonOf(over), "TOO_MANY_EXECS");
    EXPECT_TRUE(DetailsOf(over).retry_delay.has_value());
    v1::ExecInfo info;
    for (const std::string& id : ids) {
      ASSERT_THAT(Stop(id, absl::Seconds(10), &info), IsOk());
      EXPECT_EQ(info.end().outcome(), v1::OUTCOME_CANCELLED);
    }
    begun += 32;
  }
  EXPECT_EQ(Execute("ps ax | grep -c '[s]leep 1000'").out(), "0\n");
  // Of those that ended only the last ones are known.
  EXPECT_EQ(List().execs_size(), 64);
}

TEST_F(ExecFaults, AThousandCommandsInARowEndWithTheirCodes) {
  v1::StartExecResponse response;
  for (int i = 0; i < 1000; ++i) {
    const std::string code = std::to_string(i % 100);
    ASSERT_THAT(
        StartExec(Command("exit " + code), absl::Seconds(30), &response),
        IsOk());
    ASSERT_EQ(response.snapshot().exec().end().exit_code(), i % 100);
    // Nothing of the last one is in the next one's answer.
    ASSERT_EQ(response.snapshot().output_size(), 0);
  }
}

TEST_F(ExecFaults, AForkBombMeetsItsLimitAlone) {
  // The shell itself forks once, before the bomb: a shell that can't fork ends.
  v1::ExecSpec spec = Command("(f() { f | f & }; f) & while :; do :; done");
  SetDuration(spec.mutable_limits()->mutable_wall_time(), absl::Seconds(2));
  const ExecResult bomb = Execute(spec);
  ASSERT_THAT(bomb.status, IsOk());
  EXPECT_EQ(bomb.outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(Execute("echo fine").out(), "fine\n");
}

TEST_F(ExecFaults, ADiskThatWasFullIsBlamedOnlyWhereTheErrorNamesIt) {
  v1::CreateSessionRequest request;
  request.set_language("python");
  request.mutable_limits()->set_workspace_bytes(8 << 20);
  TestSession small(client(), request);
  ASSERT_THAT(small.status(), IsOk());
  const auto execute = [&](std::string_view text) {
    return Execute(testing::Command(small.id(), text)).outcome();
  };
  EXPECT_EQ(execute("exit 1"), v1::OUTCOME_NONZERO_EXIT);
  EXPECT_EQ(execute("head -c 1G /dev/zero > fill"), v1::OUTCOME_DISK_LIMIT);
  EXPECT_EQ(execute("grep x /dev/null"), v1::OUTCOME_NONZERO_EXIT);
  EXPECT_EQ(execute("echo more > file"), v1::OUTCOME_DISK_LIMIT);
  EXPECT_EQ(execute("echo more > file 2>/dev/null || true"), v1::OUTCOME_OK);
  EXPECT_THAT(small.Run("nope"), OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_THAT(small.Run("import sys; sys.exit(1)"),
              OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_THAT(small.Run("open('more', 'w').write('x' * 10000)"),
              OutcomeIs(v1::OUTCOME_DISK_LIMIT));
}

TEST_F(ExecFaults, ADeletedSessionEndsItsCommands) {
  ExecStream stream(execs(), StartOf(Background("echo up; sleep 1000")));
  ASSERT_TRUE(stream.ReadUntil("up"));
  ASSERT_THAT(session().Delete(), IsOk());
  EXPECT_EQ(stream.Finish().outcome(), v1::OUTCOME_CANCELLED);
  v1::ExecSnapshot snapshot;
  EXPECT_EQ(ReasonOf(Poll(PollOf(stream.result().exec_id()), &snapshot)),
            "SESSION_DELETED");
  EXPECT_EQ(ReasonOf(Execute("true").status), "SESSION_DELETED");
}

TEST_F(ExecFaults, AJailThatDiesIsReportedToItsCommands) {
  ExecStream stream(execs(), StartOf(Command("echo up; sleep 1003")));
  ASSERT_TRUE(stream.ReadUntil("up"));
  const std::vector<Process> its = WaitForMarked(daemon(), "sleep 1003");
  ASSERT_FALSE(its.empty());
  // Between them there may be its shell.
  const auto init = AncestorNamed(its[0], "sandglass-init");
  ASSERT_TRUE(init.has_value());
  ASSERT_TRUE(Kill(*init, SIGKILL));
  ASSERT_THAT(stream.Finish().status, IsOk());
  EXPECT_EQ(stream.result().outcome(), v1::OUTCOME_JAIL_FAILED);
  EXPECT_TRUE(WaitUntil(
      [&] { return ReasonOf(Execute("true").status) == "SESSION_DIED"; },
      absl::Seconds(20)));
}

TEST_F(ExecFaults, PausingFreezesWhatIsInTheBackground) {
  v1::ExecSpec spec = Background("while :; do echo tick; sleep 0.05; done");
  const std::string id = Begin(spec);
  v1::ExecSpec timed = Background("sleep 1; echo done");
  SetDuration(timed.mutable_limits()->mutable_wall_time(), absl::Seconds(3));
  const std::string with_limit = Begin(timed);
  ASSERT_THAT((CallSession<v1::PauseSessionRequest, v1::PauseSessionResponse>(
                  &SessionStub::PauseSession)),
              IsOk());
  absl::SleepFor(absl::Milliseconds(200));
  const uint64_t before = List().execs(1).last_sequence();
  // Longer than its limit.
  absl::SleepFor(absl::Milliseconds(3300));
  EXPECT_EQ(List().execs(1).last_sequence(), before);
  // A command wakes it.
  EXPECT_EQ(Execute("echo awake").out(), "awake\n");
  EXPECT_EQ(Ended(with_limit).exec().end().outcome(), v1::OUTCOME_OK);
  EXPECT_TRUE(
      WaitUntil([&] { return List().execs(2).last_sequence() > before; },
                absl::Seconds(20)));

  ExecStream attended(execs(), StartOf(Command("echo up; sleep 1000")));
  ASSERT_TRUE(attended.ReadUntil("up"));
  const grpc::Status busy =
      CallSession<v1::PauseSessionRequest, v1::PauseSessionResponse>(
          &SessionStub::PauseSession);
  EXPECT_EQ(ReasonOf(busy), "SESSION_BUSY");
  (void)id;
}

TEST_F(ExecFaults, ARunningCommandKeepsItsSession) {
  v1::CreateSessionRequest create;
  create.mutable_idle_timeout()->set_seconds(1);
  TestSession brief(client(), create);
  v1::ExecSpec spec = testing::Command(brief.id(), "sleep 2; echo end");
  spec.set_background(true);
  v1::StartExecResponse response;
  ASSERT_THAT(StartExec(spec, absl::Seconds(30), &response), IsOk());
  EXPECT_EQ(DataOf(response.snapshot(), v1::OUTPUT_STREAM_STDOUT), "end\n");
  // Nothing may be asked of it meanwhile, which would keep it.
  absl::SleepFor(absl::Milliseconds(1500));
  EXPECT_EQ(ReasonOf(Execute(spec).status), "SESSION_EXPIRED");
}

TEST_F(ExecFaults, AStreamThatBeginsWronglyIsRefused) {
  v1::ExecuteRequest message;
  message.set_stdin("x");
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  auto stream = execs().Execute(&context);
  stream->Write(message);
  v1::ExecuteResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(stream->Finish(), RefusesField("message"));

  grpc::ClientContext empty_context;
  empty_context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  auto empty = execs().Execute(&empty_context);
  empty->WritesDone();
  EXPECT_FALSE(empty->Read(&response));
  EXPECT_THAT(empty->Finish(), RefusesField("message"));

  ExecStream unknown(execs(), AttachTo("never"));
  EXPECT_EQ(ReasonOf(unknown.Finish().status), "EXEC_NOT_FOUND");
  ExecStream closed(execs(), StartOf(Command("sleep 1000")));
  ASSERT_TRUE(closed.SendStdin("x"));
  EXPECT_THAT(closed.Finish().status, RefusesField("stdin"));
  ExecStream absurd(execs(), StartOf(Command("sleep 1000")));
  ASSERT_TRUE(absurd.Signal(0));
  EXPECT_THAT(absurd.Finish().status, RefusesField("signal"));
}

class ExecShutdown : public OwnDaemonTest {};

TEST_F(ExecShutdown, StreamsEndWithAReason) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"drain_timeout": "500ms"})"}));
  auto stub = v1::ExecService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  TestSession session(client(), v1::CreateSessionRequest());
  session.Forget();
  v1::ExecSpec spec = Command(session.id(), "echo up; sleep 1000");
  ExecStream foreground(*stub, StartOf(spec));
  ASSERT_TRUE(foreground.ReadUntil("up"));
  spec.set_background(true);
  ExecStream background(*stub, StartOf(spec));
  ASSERT_TRUE(background.ReadUntil("up"));
  spec.set_background(false);
  spec.mutable_terminal();
  ExecStream terminal(*stub, StartOf(spec));
  ASSERT_TRUE(terminal.ReadUntil("up"));
  auto ends = std::async(std::launch::async, [&] {
    EXPECT_EQ(foreground.Finish().outcome(), v1::OUTCOME_SHUTDOWN);
    EXPECT_EQ(background.Finish().outcome(), v1::OUTCOME_SHUTDOWN);
    EXPECT_EQ(terminal.Finish().outcome(), v1::OUTCOME_SHUTDOWN);
    EXPECT_THAT(foreground.result().status, IsOk());
  });
  StopDaemon();
  ends.get();
}

}  // namespace
}  // namespace sandglass::testing
