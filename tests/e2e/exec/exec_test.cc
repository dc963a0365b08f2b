// Commands in a session: how they start, what they write, how they end.

#include <csignal>
#include <future>
#include <string>
#include <vector>

#include "tests/e2e/exec/exec_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kToTheEnd = -absl::Seconds(1);

TEST_F(Exec, ACommandsEndIsReported) {
  const ExecResult ok = Execute("echo out; echo err >&2");
  ASSERT_THAT(ok.status, IsOk());
  EXPECT_EQ(ok.out(), "out\n");
  EXPECT_EQ(ok.err(), "err\n");
  ASSERT_EQ(ok.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(ok.end->exit_code(), 0);
  EXPECT_EQ(ok.end->stdout_bytes(), 4u);
  EXPECT_EQ(ok.end->stderr_bytes(), 4u);
  EXPECT_GT(ToAbsl(ok.end->usage().wall_time()), absl::ZeroDuration());
  EXPECT_FALSE(ok.started->joined());
  EXPECT_GT(ok.started->exec().pid(), 1);

  const ExecResult failed = Execute("exit 3");
  EXPECT_EQ(failed.outcome(), v1::OUTCOME_NONZERO_EXIT);
  EXPECT_EQ(failed.end->exit_code(), 3);

  const ExecResult killed = Execute("kill -SEGV $$");
  EXPECT_EQ(killed.outcome(), v1::OUTCOME_SIGNALED);
  EXPECT_EQ(killed.end->signal().name(), "SIGSEGV");

  const ExecResult words =
      Execute(Argv(session().id(), {"printf", "%s|", "a b", "$c", "*"}));
  EXPECT_EQ(words.out(), "a b|$c|*|");
}

TEST_F(Exec, FilesStayFromOneCommandToTheNext) {
  EXPECT_EQ(Execute("echo kept > notes").outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(Execute("cat notes").out(), "kept\n");
}

TEST_F(Exec, FiveAtOnceWithMuchOutputComeBackWhole) {
  std::vector<std::future<ExecResult>> calls(5);
  for (int i = 0; i < 5; ++i) {
    calls[i] = std::async(std::launch::async, [this, i] {
      return Execute(absl::StrCat("yes line-", i, " | head -c 512000"));
    });
  }
  for (int i = 0; i < 5; ++i) {
    const ExecResult result = calls[i].get();
    ASSERT_THAT(result.status, IsOk());
    EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
    std::string expected;
    for (int n = 0; n < 100'000; ++n) {
      absl::StrAppend(&expected, "line-", i, "\n");
    }
    expected.resize(512'000);
    EXPECT_TRUE(result.out() == expected) << result.out().size();
    EXPECT_TRUE(result.gaps.empty());
    uint64_t sequence = 0, offset = 0;
    for (const v1::ExecOutput& piece : result.pieces) {
      EXPECT_EQ(piece.sequence(), ++sequence);
      EXPECT_EQ(piece.offset(), offset);
      offset += piece.data().size();
    }
  }
}

TEST_F(Exec, OutputCanBeMergedInItsOrder) {
  v1::ExecSpec spec = Command(
      "i=0; while [ $i -lt 200 ]; do echo out$i; echo err$i >&2;"
      " i=$((i+1)); done");
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&expected, "out", i, "\nerr", i, "\n");
  }
  spec.set_merged_output(true);
  const ExecResult merged = Execute(spec);
  EXPECT_EQ(merged.out(), expected);
  EXPECT_EQ(merged.err(), "");
  spec.set_merged_output(false);
  const ExecResult apart = Execute(spec);
  EXPECT_THAT(apart.out(), HasSubstr("out0\nout1\n"));
  EXPECT_THAT(apart.err(), HasSubstr("err198\nerr199\n"));
}

TEST_F(Exec, ARetryFindsWhatTheFirstTryStarted) {
  v1::ExecSpec spec = Command("echo once | tee -a count; sleep 1");
  spec.set_exec_id("build.1");
  (*spec.mutable_env())["A"] = "1";
  (*spec.mutable_env())["B"] = "2";
  std::vector<std::future<ExecResult>> calls(4);
  for (auto& call : calls) {
    call = std::async(std::launch::async, [&] { return Execute(spec); });
  }
  int joined = 0;
  for (auto& call : calls) {
    const ExecResult result = call.get();
    ASSERT_THAT(result.status, IsOk());
    EXPECT_EQ(result.out(), "once\n");
    EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
    joined += result.started->joined() ? 1 : 0;
  }
  EXPECT_EQ(joined, 3);
  const ExecResult late = Execute(spec);
  EXPECT_TRUE(late.started->joined());
  EXPECT_EQ(late.out(), "once\n");
  EXPECT_EQ(Execute("cat count").out(), "once\n");

  spec.set_command("echo other");
  const ExecResult other = Execute(spec);
  EXPECT_THAT(other.status, StatusIs(grpc::StatusCode::ALREADY_EXISTS));
  EXPECT_EQ(ReasonOf(other.status), "EXEC_ID_REUSED");
}

// What comes is written when the test says so, not after some time.
TEST_F(Exec, YieldsWhatThereIsAndGoesOn) {
  v1::ExecSpec spec = Command("echo early; read l; echo late; read l; exit 4");
  spec.set_open_stdin(true);
  v1::StartExecResponse first;
  ASSERT_THAT(StartExec(spec, absl::Seconds(2), &first), IsOk());
  const v1::ExecSnapshot& early = first.snapshot();
  EXPECT_EQ(early.exec().state(), v1::EXEC_STATE_RUNNING);
  EXPECT_TRUE(early.exec().background());
  EXPECT_FALSE(early.complete());
  EXPECT_EQ(DataOf(early, v1::OUTPUT_STREAM_STDOUT), "early\n");

  const std::string& id = early.exec().exec_id();
  v1::PollExecRequest request = PollOf(id, early.next_sequence());
  v1::ExecSnapshot now;
  ASSERT_THAT(Poll(request, &now), IsOk());
  EXPECT_EQ(now.output_size(), 0);
  EXPECT_EQ(SendLine(id, early.next_sequence(), &now), "late\n");
  EXPECT_EQ(SendLine(id, now.next_sequence(), &now), "");
  EXPECT_TRUE(now.complete());
  EXPECT_EQ(now.exec().end().exit_code(), 4);

  spec.set_command("echo here; read l; echo there");
  v1::ExecuteStart start = StartOf(spec);
  SetDuration(start.mutable_yield_after(), absl::Seconds(2));
  ExecStream stream(execs(), start);
  const ExecResult& yielded = stream.Finish();
  ASSERT_THAT(yielded.status, IsOk());
  ASSERT_TRUE(yielded.yielded);
  EXPECT_EQ(yielded.out(), "here\n");
  EXPECT_EQ(SendLine(yielded.exec_id(), yielded.yielded->next_sequence(), &now),
            "there\n");
  EXPECT_EQ(Ended(yielded.exec_id()).exec().end().outcome(), v1::OUTCOME_OK);
}

TEST_F(Exec, ReplaysFromASequence) {
  v1::ExecSpec spec =
      Background("for i in 1 2 3 4 5; do read l; echo $i; done");
  spec.set_open_stdin(true);
  const std::string id = Begin(spec);
  ExecStream stream(execs(), AttachTo(id));
  v1::ExecSnapshot now;
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(SendLine(id, i, &now), absl::StrCat(i, "\n"));
  }
  const ExecResult& all = stream.Finish();
  ASSERT_THAT(all.status, IsOk());
  EXPECT_TRUE(all.started->joined());
  EXPECT_EQ(all.out(), "1\n2\n3\n4\n5\n");
  ASSERT_EQ(all.pieces.size(), 5u);
  ExecStream again(execs(), AttachTo(id, 3));
  EXPECT_EQ(again.Finish().out(), "3\n4\n5\n");
  EXPECT_EQ(again.result().outcome(), v1::OUTCOME_OK);
  ExecStream beyond(execs(), AttachTo(id, uint64_t{1} << 60));
  EXPECT_EQ(beyond.Finish().out(), "");
  EXPECT_EQ(beyond.result().outcome(), v1::OUTCOME_OK);
}

TEST_F(Exec, OutputThatIsNoLongerKeptIsReported) {
  v1::ExecSpec spec = Background("yes 1234567 | head -c 1048576");
  spec.mutable_limits()->set_output_bytes(16384);
  const v1::ExecSnapshot end = Ended(Begin(spec));
  ASSERT_TRUE(end.has_gap());
  const std::string kept = DataOf(end, v1::OUTPUT_STREAM_STDOUT);
  EXPECT_GE(kept.size(), 8192u);
  EXPECT_LE(kept.size(), 16384u);
  EXPECT_EQ(end.gap().stdout_bytes() + kept.size(), 1048576u);
  EXPECT_EQ(end.gap().stdout_bytes(), end.output(0).offset());
  EXPECT_EQ(end.gap().next_sequence(), end.output(0).sequence());
  EXPECT_TRUE(end.complete());
  EXPECT_EQ(end.exec().end().stdout_bytes(), 1048576u);
  EXPECT_EQ(end.exec().first_sequence(), end.output(0).sequence());
}

TEST_F(Exec, WhoIsAttachedMissesNothing) {
  v1::ExecSpec spec = Command("yes 1234567 | head -c 3000000");
  spec.mutable_limits()->set_output_bytes(16384);
  const ExecResult result = Execute(spec);
  EXPECT_EQ(result.out().size(), 3'000'000u);
  EXPECT_TRUE(result.gaps.empty());
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
}

TEST_F(Exec, TenMebibytesGoThroughCat) {
  v1::ExecSpec spec = Command("cat");
  spec.set_open_stdin(true);
  std::string data;
  while (data.size() < (10 << 20)) absl::StrAppend(&data, data.size(), "\n");
  ExecStream stream(execs(), StartOf(spec));
  auto writing = std::async(std::launch::async, [&] {
    for (size_t at = 0; at < data.size(); at += 300'000) {
      if (!stream.SendStdin(std::string_view(data).substr(at, 300'000))) return;
    }
    stream.CloseStdin();
  });
  const ExecResult& result = stream.Finish();
  writing.get();
  ASSERT_THAT(result.status, IsOk());
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_TRUE(result.out() == data) << result.out().size();
}

TEST_F(Exec, StandardInputReachesTheCommand) {
  EXPECT_EQ(Execute("cat; echo end").out(), "end\n");
  v1::ExecSpec spec = Command("wc -c");
  spec.set_stdin(std::string(300'000, 'x'));
  EXPECT_EQ(Execute(spec).out(), "300000\n");
  // One that doesn't read it ends all the same.
  spec.set_command("exit 5");
  EXPECT_EQ(Execute(spec).end->exit_code(), 5);

  spec = Background("read line; echo got $line; cat");
  spec.set_open_stdin(true);
  v1::PollExecRequest request = PollOf(Begin(spec));
  request.set_stdin("word\n");
  request.set_any_output(true);
  SetDuration(request.mutable_wait(), absl::Seconds(30));
  v1::ExecSnapshot snapshot;
  ASSERT_THAT(Poll(request, &snapshot), IsOk());
  EXPECT_EQ(DataOf(snapshot, v1::OUTPUT_STREAM_STDOUT), "got word\n");
  request.set_stdin("last");
  request.set_close_stdin(true);
  request.set_any_output(false);
  ASSERT_THAT(Poll(request, &snapshot), IsOk());
  EXPECT_TRUE(snapshot.complete());
  EXPECT_EQ(DataOf(snapshot, v1::OUTPUT_STREAM_STDOUT), "got word\nlast");
}

TEST_F(Exec, LimitsEndTheCommandAndNotItsSession) {
  TestSession python(client());
  ASSERT_THAT(python.Run("x = 41"), OutcomeIs(v1::OUTCOME_OK));
  const auto run = [&](std::string_view text, const v1::Limits& limits) {
    v1::ExecSpec spec = testing::Command(python.id(), text);
    *spec.mutable_limits() = limits;
    return Execute(spec);
  };
  v1::Limits limits;
  SetDuration(limits.mutable_wall_time(), absl::Seconds(2));
  const ExecResult late = run("echo begun; sleep 60", limits);
  EXPECT_EQ(late.outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(late.out(), "begun\n");
  EXPECT_EQ(late.end->evidence().limit().configured(), 2'000'000'000u);
  EXPECT_EQ(late.end->evidence().killed_by(), v1::KILLER_DAEMON);

  limits.Clear();
  SetDuration(limits.mutable_cpu_time(), absl::Milliseconds(300));
  const ExecResult busy = run("while :; do :; done", limits);
  EXPECT_EQ(busy.outcome(), v1::OUTCOME_CPU_LIMIT);
  EXPECT_GE(busy.end->evidence().limit().measured(), 300'000'000u);

  limits.Clear();
  limits.set_output_total_bytes(100'000);
  const ExecResult loud = run("yes", limits);
  EXPECT_EQ(loud.outcome(), v1::OUTCOME_OUTPUT_LIMIT);
  EXPECT_GT(loud.out().size(), 100'000u);

  limits.Clear();
  limits.set_file_size_bytes(8192);
  EXPECT_EQ(run("exec head -c 100000 /dev/zero > big", limits).outcome(),
            v1::OUTCOME_FILE_SIZE_LIMIT);
  limits.Clear();
  limits.set_open_files(20);
  EXPECT_EQ(run("ulimit -n", limits).out(), "20\n");
  limits.Clear();
  EXPECT_EQ(run("exec python3 -c \"x = b'1' * (1 << 20)\nl = []\nwhile True: "
                "l.append(bytearray(x))\"",
                limits)
                .outcome(),
            v1::OUTCOME_MEMORY_LIMIT);

  const RunResult after = python.Run("x + 1");
  ASSERT_THAT(after, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(after.response), "42");
}

TEST_F(Exec, EnvironmentAndDirectoryAreInPlace) {
  v1::CreateSessionRequest create;
  (*create.mutable_env())["FROM_SESSION"] = "s";
  (*create.mutable_env())["BOTH"] = "session";
  TestSession own(client(), create);
  v1::ExecSpec spec = testing::Command(
      own.id(),
      "echo $FROM_SESSION $BOTH $ADDED; echo $HOME $LANG $USER $PATH; "
      "pwd; echo $PWD; cd && touch f && echo home");
  (*spec.mutable_env())["BOTH"] = "exec";
  (*spec.mutable_env())["ADDED"] = "a";
  EXPECT_EQ(Execute(spec).out(),
            "s exec a\n/home/sandbox C.UTF-8 sandbox "
            "/usr/local/bin:/usr/bin:/bin:/opt/sandglass/bin\n/workspace\n"
            "/workspace\nhome\n");
  spec = testing::Command(own.id(), "echo $PWD; printf 'ü' | wc -m; python -V");
  spec.set_directory("/tmp");
  EXPECT_THAT(Execute(spec).out(), HasSubstr("/tmp\n1\nPython 3."));
  Execute(testing::Command(own.id(), "mkdir sub"));
  spec.set_directory("sub");
  EXPECT_THAT(Execute(spec).out(), HasSubstr("/workspace/sub\n"));
}

TEST_F(Exec, WhatCantBeStartedIsToldWhy) {
  const auto reason = [&](const v1::ExecSpec& spec, grpc::StatusCode code) {
    v1::StartExecResponse response;
    const grpc::Status status = StartExec(spec, kToTheEnd, &response);
    EXPECT_THAT(status, StatusIs(code));
    EXPECT_EQ(Execute(spec).status.error_code(), code);
    return ReasonOf(status);
  };
  const std::string& id = session().id();
  EXPECT_EQ(reason(Argv(id, {"no-such"}), grpc::StatusCode::NOT_FOUND),
            "PROGRAM_NOT_FOUND");
  EXPECT_EQ(reason(Argv(id, {"/no/such"}), grpc::StatusCode::NOT_FOUND),
            "PROGRAM_NOT_FOUND");
  EXPECT_EQ(reason(Argv(id, {"/etc"}), grpc::StatusCode::FAILED_PRECONDITION),
            "PROGRAM_NOT_EXECUTABLE");
  Execute("echo text > text; chmod +x text");
  EXPECT_EQ(reason(Argv(id, {"./text"}), grpc::StatusCode::FAILED_PRECONDITION),
            "PROGRAM_NOT_EXECUTABLE");
  v1::ExecSpec lost = Command("true");
  lost.set_directory("nowhere");
  EXPECT_EQ(reason(lost, grpc::StatusCode::NOT_FOUND), "DIRECTORY_NOT_FOUND");
  lost.set_directory("text");
  EXPECT_EQ(reason(lost, grpc::StatusCode::NOT_FOUND), "DIRECTORY_NOT_FOUND");
  // Nothing of it stays.
  EXPECT_EQ(List().execs_size(), 1);
}

TEST_F(Exec, BadRequestsAreRefusedByTheirFields) {
  const auto refused = [&](const v1::ExecSpec& spec) {
    v1::StartExecResponse response;
    return StartExec(spec, kToTheEnd, &response);
  };
  EXPECT_THAT(refused(Command("")), RefusesField("spec.command"));
  v1::ExecSpec spec = Command("true");
  spec.add_argv("true");
  EXPECT_THAT(refused(spec), RefusesField("spec.command"));
  EXPECT_THAT(refused(Command(std::string("a\0b", 3))),
              RefusesField("spec.command"));
  EXPECT_THAT(refused(Command(std::string(200'000, 'a'))),
              RefusesField("spec.command"));
  const std::string& id = session().id();
  EXPECT_THAT(refused(Argv(id, {""})), RefusesField("spec.argv[0]"));
  EXPECT_THAT(refused(Argv(id, {"echo", std::string("a\0", 2)})),
              RefusesField("spec.argv[1]"));
  EXPECT_THAT(refused(Argv(id, std::vector<std::string>(2000, "a"))),
              RefusesField("spec.argv"));
  EXPECT_THAT(refused(Argv(
                  id, std::vector<std::string>(10, std::string(100'000, 'a')))),
              RefusesField("spec.argv"));
  spec = Command("true");
  spec.set_directory(std::string("/tmp\0", 5));
  EXPECT_THAT(refused(spec), RefusesField("spec.directory"));
  spec.set_directory(std::string(5000, 'd'));
  EXPECT_THAT(refused(spec), RefusesField("spec.directory"));
  spec = Command("true");
  (*spec.mutable_env())["1A"] = "x";
  EXPECT_THAT(refused(spec), RefusesField("spec.env[\"1A\"]"));
  spec = Command("true");
  spec.set_exec_id("a b");
  EXPECT_THAT(refused(spec), RefusesField("spec.exec_id"));
  spec.set_exec_id(std::string(65, 'a'));
  EXPECT_THAT(refused(spec), RefusesField("spec.exec_id"));
  spec = Command("true");
  spec.mutable_terminal()->set_rows(65536);
  EXPECT_THAT(refused(spec), RefusesField("spec.terminal"));
  spec = Command("true");
  spec.mutable_limits()->set_memory_bytes(1 << 30);
  EXPECT_THAT(refused(spec), RefusesField("spec.limits.memory_bytes"));
  spec = Command("true");
  spec.mutable_limits()->mutable_wall_time()->set_seconds(100'000);
  EXPECT_THAT(refused(spec), RefusesField("spec.limits.wall_time"));

  ExecStream stream(execs(), StartOf(Command("")));
  EXPECT_THAT(stream.Finish().status, RefusesField("start.spec.command"));
  v1::StopExecRequest stop;
  stop.set_session_id(id);
  stop.set_exec_id("x");
  stop.set_signal(65);
  v1::StopExecResponse stopped;
  EXPECT_THAT(CallExecs(execs(), &ExecStub::StopExec, stop, &stopped),
              RefusesField("signal"));
  v1::PollExecRequest poll = PollOf("never");
  v1::ExecSnapshot snapshot;
  EXPECT_EQ(ReasonOf(Poll(poll, &snapshot)), "EXEC_NOT_FOUND");
  poll.mutable_wait()->set_seconds(3600);
  EXPECT_THAT(Poll(poll, &snapshot), RefusesField("wait"));
  poll.set_session_id("ses-0000000000000000");
  poll.clear_wait();
  EXPECT_EQ(ReasonOf(Poll(poll, &snapshot)), "SESSION_NOT_FOUND");
}

TEST_F(Exec, StopsWithASignalFirst) {
  const std::string tidy =
      Begin(Background("trap 'echo tidied; exit 7' TERM; echo up; "
                       "while :; do sleep 0.1; done"));
  ExecStream stream(execs(), AttachTo(tidy));
  ASSERT_TRUE(stream.ReadUntil("up"));
  v1::ExecInfo info;
  ASSERT_THAT(Stop(tidy, absl::Seconds(20), &info), IsOk());
  EXPECT_EQ(info.state(), v1::EXEC_STATE_ENDED);
  EXPECT_EQ(info.end().outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_EQ(info.end().exit_code(), 7);
  EXPECT_THAT(stream.Finish().out(), HasSubstr("tidied"));
  EXPECT_EQ(stream.result().outcome(), v1::OUTCOME_CANCELLED);

  const std::string deaf =
      Begin(Background("trap '' TERM; echo up; while :; do sleep 0.1; done"));
  ExecStream other(execs(), AttachTo(deaf));
  ASSERT_TRUE(other.ReadUntil("up"));
  ASSERT_THAT(Stop(deaf, absl::Milliseconds(200), &info), IsOk());
  EXPECT_EQ(info.end().outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_EQ(info.end().signal().number(), SIGKILL);
  // Again changes nothing.
  EXPECT_THAT(Stop(deaf, absl::ZeroDuration(), &info), IsOk());
  EXPECT_EQ(info.end().signal().number(), SIGKILL);
}

TEST_F(Exec, SignalsReachItsGroup) {
  // The child says when it has none of the shell's traps any more.
  ExecStream stream(execs(), StartOf(Command("trap 'echo caught' USR1; "
                                             "sh -c 'echo up; exec sleep 50' & "
                                             "wait; echo on; exec sleep 50")));
  ASSERT_TRUE(stream.ReadUntil("up"));
  ASSERT_TRUE(stream.Signal(SIGUSR1));
  // Its child had no such trap.
  ASSERT_TRUE(stream.ReadUntil("on"));
  EXPECT_THAT(stream.result().out(), HasSubstr("caught"));
  v1::SignalExecRequest request;
  request.set_session_id(session().id());
  request.set_exec_id(stream.result().exec_id());
  request.set_signal(SIGTERM);
  v1::SignalExecResponse response;
  // Until the exec has happened the shell takes it, with the same end.
  ASSERT_THAT(CallExecs(execs(), &ExecStub::SignalExec, request, &response),
              IsOk());
  EXPECT_EQ(stream.Finish().outcome(), v1::OUTCOME_SIGNALED);
  EXPECT_EQ(stream.result().end->signal().number(), SIGTERM);
}

TEST_F(Exec, ProcessesLeftBehindEndWithTheCommand) {
  const ExecResult result =
      Execute("setsid sleep 1000 & sleep 1000 & echo left");
  EXPECT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(result.out(), "left\n");
  EXPECT_EQ(result.end->evidence().leftover_processes(), 2u);
  EXPECT_EQ(Execute("ps ax | grep -c '[s]leep 1000'").out(), "0\n");
}

TEST_F(Exec, ListsTheNewestFirst) {
  const std::string first = Begin(Background("sleep 100"));
  const std::string second = Begin(Command("true"));
  (void)Ended(second);
  const v1::ListExecsResponse list = List();
  ASSERT_EQ(list.execs_size(), 2);
  EXPECT_EQ(list.execs(0).exec_id(), second);
  EXPECT_EQ(list.execs(0).state(), v1::EXEC_STATE_ENDED);
  EXPECT_EQ(list.execs(0).end().outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(list.execs(1).exec_id(), first);
  EXPECT_EQ(list.execs(1).state(), v1::EXEC_STATE_RUNNING);
  EXPECT_FALSE(list.execs(1).limits().has_wall_time());
  EXPECT_TRUE(list.execs(0).limits().has_wall_time());
  EXPECT_EQ(list.execs(1).argv(2), "sleep 100");
}

TEST_F(Exec, DetachLeavesTheCommandRunning) {
  v1::ExecSpec spec = Command("echo up; read line; echo got $line");
  spec.set_open_stdin(true);
  ExecStream stream(execs(), StartOf(spec));
  ASSERT_TRUE(stream.ReadUntil("up"));
  ASSERT_TRUE(stream.Detach());
  const ExecResult& result = stream.Finish();
  ASSERT_THAT(result.status, IsOk());
  ASSERT_TRUE(result.yielded);
  ExecStream next(execs(),
                  AttachTo(result.exec_id(), result.yielded->next_sequence()));
  ASSERT_TRUE(next.SendStdin("it\n"));
  EXPECT_EQ(next.Finish().out(), "got it\n");
}

}  // namespace
}  // namespace sandglass::testing
