// Commands on a terminal.

#include <csignal>
#include <string>
#include <vector>

#include "tests/e2e/exec/exec_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

class ExecTerminal : public Exec {
 protected:
  v1::ExecSpec OnTerminal(std::string_view text, uint32_t rows = 0,
                          uint32_t columns = 0) const {
    v1::ExecSpec spec = Command(text);
    spec.mutable_terminal()->set_rows(rows);
    spec.mutable_terminal()->set_columns(columns);
    return spec;
  }
  v1::ExecSpec Shell() const {
    v1::ExecSpec spec = OnTerminal("");
    spec.clear_command();
    for (const char* word : {"/bin/bash", "--norc", "--noprofile", "-i"}) {
      spec.add_argv(word);
    }
    (*spec.mutable_env())["PS1"] = "ready> ";
    return spec;
  }
};

TEST_F(ExecTerminal, ACommandHasATerminalOfItsOwn) {
  const ExecResult result = Execute(OnTerminal(
      "test -t 0 && test -t 1 && test -t 2 && tty; stty size; echo $TERM; "
      "echo err >&2"));
  ASSERT_EQ(result.outcome(), v1::OUTCOME_OK);
  EXPECT_THAT(result.out(), HasSubstr("/dev/pts/"));
  EXPECT_THAT(result.out(),
              HasSubstr("\r\n24 80\r\nxterm-256color\r\nerr\r\n"));
  EXPECT_EQ(result.err(), "");
  EXPECT_TRUE(result.started->exec().has_terminal());
  EXPECT_FALSE(result.started->exec().limits().has_wall_time());
  EXPECT_THAT(Execute(OnTerminal("stty size", 40, 132)).out(),
              HasSubstr("40 132"));
}

TEST_F(ExecTerminal, TheTerminalsSizeFollowsTheClients) {
  ExecStream stream(
      execs(),
      StartOf(OnTerminal("trap 'stty size' WINCH; echo up; "
                         "while ! test -e /tmp/enough; do sleep 0.1; done")));
  ASSERT_TRUE(stream.ReadUntil("up"));
  ASSERT_TRUE(stream.Resize(50, 200));
  EXPECT_TRUE(stream.ReadUntil("50 200"));
  v1::PollExecRequest poll = PollOf(stream.result().exec_id());
  poll.mutable_resize()->set_rows(10);
  poll.mutable_resize()->set_columns(20);
  v1::ExecSnapshot snapshot;
  EXPECT_THAT(Poll(poll, &snapshot), IsOk());
  EXPECT_TRUE(stream.ReadUntil("10 20"));
  (void)Execute("touch /tmp/enough");
  EXPECT_EQ(stream.Finish().outcome(), v1::OUTCOME_OK);
  ExecStream absurd(execs(), StartOf(OnTerminal("sleep 60")));
  ASSERT_TRUE(absurd.Resize(70'000, 1));
  EXPECT_THAT(absurd.Finish().status, RefusesField("resize"));
}

TEST_F(ExecTerminal, AnInteractiveShellHasJobControl) {
  ExecStream shell(execs(), StartOf(Shell()));
  ASSERT_TRUE(shell.ReadUntil("ready> "));
  ASSERT_TRUE(shell.SendStdin("echo a-$((20+1))\n"));
  ASSERT_TRUE(shell.ReadUntil("a-21"));
  // ^C ends what is in the foreground and not the shell.
  ASSERT_TRUE(shell.SendStdin("sh -c 'echo up-\"1\"; exec sleep 1000'\n"));
  ASSERT_TRUE(shell.ReadUntil("up-1"));
  ASSERT_TRUE(shell.SendStdin("\x03"));
  ASSERT_TRUE(shell.SendStdin("echo after-$((1+1))\n"));
  ASSERT_TRUE(shell.ReadUntil("after-2"));
  // ^Z and fg.
  ASSERT_TRUE(shell.SendStdin("sh -c 'echo up-\"2\"; exec sleep 1000'\n"));
  ASSERT_TRUE(shell.ReadUntil("up-2"));
  ASSERT_TRUE(shell.SendStdin("\x1a"));
  ASSERT_TRUE(shell.ReadUntil("Stopped"));
  // A shell with a stopped job would only warn at the ^D.
  ASSERT_TRUE(
      shell.SendStdin("p=$(jobs -p); kill -9 $p; while kill -0 $p; do :; done; "
                      "PS1=gone-$((2+1))'> '\n"));
  // ^D, once it reads key by key: one that comes before is lost to any shell.
  ASSERT_TRUE(shell.ReadUntil("gone-3> "));
  ASSERT_TRUE(shell.CloseStdin());
  EXPECT_EQ(shell.Finish().outcome(), v1::OUTCOME_OK);
}

TEST_F(ExecTerminal, SignalsGoToTheForeground) {
  ExecStream shell(execs(), StartOf(Shell()));
  ASSERT_TRUE(shell.ReadUntil("ready> "));
  ASSERT_TRUE(shell.SendStdin("sh -c 'echo fr\"\"ont; sleep 1000'\n"));
  ASSERT_TRUE(shell.ReadUntil("front"));
  ASSERT_TRUE(shell.Signal(SIGTERM));
  ASSERT_TRUE(shell.SendStdin("echo still-$((3+4))\n"));
  EXPECT_TRUE(shell.ReadUntil("still-7"));
  EXPECT_THAT(shell.result().out(), HasSubstr("Terminated"));
  // A shell heeds no SIGTERM, but its terminal's end.
  v1::ExecInfo info;
  const absl::Time began = absl::Now();
  ASSERT_THAT(Stop(shell.result().exec_id(), absl::Seconds(40), &info), IsOk());
  EXPECT_LT(absl::Now() - began, absl::Seconds(30));
  EXPECT_EQ(info.end().outcome(), v1::OUTCOME_CANCELLED);
}

TEST_F(ExecTerminal, AStopHangsUpTheTerminal) {
  ExecStream stream(execs(),
                    StartOf(OnTerminal("trap '' TERM; trap 'echo hung up' HUP; "
                                       "exec 2>/dev/null; echo here; "
                                       "while :; do sleep 0.1; done")));
  ASSERT_TRUE(stream.ReadUntil("here"));
  v1::ExecInfo info;
  ASSERT_THAT(Stop(stream.result().exec_id(), absl::Seconds(4), &info), IsOk());
  EXPECT_EQ(info.end().outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_THAT(stream.Finish().out(), HasSubstr("hung up\r\nhung up\r\n"));
}

TEST_F(ExecTerminal, ProgramsCanReadKeyByKey) {
  ExecStream stream(execs(),
                    StartOf(OnTerminal("exec python3 -c '"
                                       "import os,sys,tty\n"
                                       "tty.setraw(0)\n"
                                       "os.write(1,b\"up\")\n"
                                       "keys=b\"\"\n"
                                       "while not keys.endswith(b\"q\"):\n"
                                       "  keys+=os.read(0,1)\n"
                                       "os.write(1,repr(keys).encode())'")));
  ASSERT_TRUE(stream.ReadUntil("up"));
  ASSERT_TRUE(stream.SendStdin("\x03\x04\x1b[A\r\nq"));
  EXPECT_THAT(stream.Finish().out(), HasSubstr("b'\\x03\\x04\\x1b[A\\r\\nq'"));
  EXPECT_EQ(stream.result().outcome(), v1::OUTCOME_OK);
}

TEST_F(ExecTerminal, AShellEndsWithItsClient) {
  std::string id;
  {
    ExecStream shell(execs(), StartOf(Shell()));
    ASSERT_TRUE(shell.ReadUntil("ready> "));
    id = shell.result().exec_id();
  }
  const v1::ExecSnapshot end = Ended(id);
  EXPECT_EQ(end.exec().end().outcome(), v1::OUTCOME_CANCELLED);
}

TEST_F(ExecTerminal, TerminalsBeyondTheLimitAreRefused) {
  std::vector<std::unique_ptr<ExecStream>> streams;
  for (int i = 0; i < 16; ++i) {
    streams.push_back(std::make_unique<ExecStream>(
        execs(), StartOf(OnTerminal("echo up; sleep 100"))));
    ASSERT_TRUE(streams.back()->ReadUntil("up"));
  }
  const ExecResult over = Execute(OnTerminal("true"));
  EXPECT_THAT(over.status, StatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_EQ(ReasonOf(over.status), "TOO_MANY_EXECS");
  // Others don't need one.
  EXPECT_EQ(Execute("true").outcome(), v1::OUTCOME_OK);
  const std::string id = streams.back()->result().exec_id();
  streams.pop_back();
  (void)Ended(id);
  EXPECT_TRUE(WaitUntil(
      [&] { return Execute(OnTerminal("true")).outcome() == v1::OUTCOME_OK; },
      absl::Seconds(20)));
}

}  // namespace
}  // namespace sandglass::testing
