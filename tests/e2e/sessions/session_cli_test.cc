// `sandglass session` against the real daemon: a directory goes into a session
// and comes back.

#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CliSessionFiles : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (HasFatalFailure()) return;
    session_.emplace(client());
  }
  // Before it is looked whether anything is left.
  void TearDown() override {
    session_.reset();
    DaemonTest::TearDown();
  }
  // Runs a script of /bin/sh in a directory of its own, with the client as
  // $S and the session as $ID. What it printed, with its exit code behind.
  std::string Script(const std::string& text) {
    return RunShell(absl::StrCat(
        "cd ", directory_.path(), " && export SANDGLASS_ADDRESS=",
        daemon().address(), " S=", SANDGLASS_BINARY, " ID=", session_->id(),
        "; exec 2>&1; (", text, ") </dev/null; echo \"exit $?\""));
  }

  TempDir directory_;
  std::optional<TestSession> session_;
};

TEST_F(CliSessionFiles, ADirectoryGoesInAndComesBackTheSame) {
  EXPECT_EQ(
      Script("set -e; mkdir -p in/deep/er in/none; seq 100000 > "
             "in/numbers; echo x > in/deep/er/x; head -c 3000000 "
             "/dev/urandom > in/deep/big; printf '#!/bin/sh\\n' > in/run; "
             "chmod 755 in/run; \"$S\" session put $ID in; "
             "\"$S\" session get $ID in out; diff -r in out && "
             "test -x out/run && ls out"),
      "deep\nnone\nnumbers\nrun\nexit 0\n");
}

TEST_F(CliSessionFiles, LinksAndNamesOfTheSessionLeadNowhere) {
  ASSERT_THAT(session_->Run("import os\n"
                            "os.makedirs('t/sub')\n"
                            "open('t/good', 'w').write('good')\n"
                            "os.symlink('/etc/passwd', 't/link')\n"
                            "os.symlink('/', 't/sub/root')\n"
                            "open('t/two\\nlines', 'w').close()\n"
                            "open(b't/\\xff', 'w').close()\n"
                            "os.mkfifo('t/pipe')"),
              OutcomeIs(v1::OUTCOME_OK));
  const std::string output =
      Script("\"$S\" session get $ID t; find t | sort; exit 3");
  EXPECT_THAT(output, HasSubstr("left out t/link: a symbolic link"));
  EXPECT_THAT(output, HasSubstr("left out t/sub/root: a symbolic link"));
  EXPECT_THAT(output, HasSubstr("left out t/pipe: no regular file"));
  EXPECT_THAT(output, HasSubstr("t/two\\x0alines: unsafe path"));
  EXPECT_THAT(output, HasSubstr("its name is not UTF-8"));
  EXPECT_THAT(output, HasSubstr("t\nt/good\nt/sub\nexit 3\n"));
}

TEST_F(CliSessionFiles, OneFileByStandardInputAndOutput) {
  EXPECT_EQ(Script("set -e; echo hello | \"$S\" session put $ID - a/b.txt; "
                   "\"$S\" session cat $ID a/b.txt; "
                   "\"$S\" session get $ID a/b.txt - | wc -c; "
                   "\"$S\" session ls $ID a; \"$S\" session ls $ID"),
            "hello\n6\nb.txt\na\nexit 0\n");
  EXPECT_THAT(Script("\"$S\" session get $ID missing"),
              HasSubstr("reason: FILE_NOT_FOUND\nexit 125\n"));
  EXPECT_THAT(Script("\"$S\" session put $ID /etc/hostname /proc/x"),
              HasSubstr("exit 125\n"));
}

class CliSessionExec : public CliSessionFiles {};

TEST_F(CliSessionExec, OutputExitCodesAndStandardInputAreTheCommands) {
  EXPECT_EQ(Script("\"$S\" session exec $ID --cwd /tmp --env A=b -- sh -c "
                   "'pwd; echo $A >&2; exit 3'"),
            "/tmp\nb\nexit 3\n");
  EXPECT_EQ(Script("seq 100000 | \"$S\" session exec $ID -- wc -l"),
            "100000\nexit 0\n");
  EXPECT_EQ(Script("\"$S\" session exec $ID -- yes | head -1"), "y\nexit 0\n");
  EXPECT_THAT(Script("\"$S\" session exec $ID -c 'kill -KILL $$'"),
              HasSubstr("exit 137\n"));
  EXPECT_THAT(Script("\"$S\" session exec $ID --timeout 300ms -- sleep 60"),
              HasSubstr("exit 124\n"));
  EXPECT_THAT(
      Script("\"$S\" session exec $ID -- no-such-program"),
      AllOf(HasSubstr("reason: PROGRAM_NOT_FOUND\n"), HasSubstr("exit 127\n")));
  EXPECT_THAT(Script("\"$S\" session exec $ID -d -- no-such-program"),
              HasSubstr("exit 127\n"));
  EXPECT_THAT(Script("\"$S\" session exec $ID -- /etc/passwd"),
              HasSubstr("exit 126\n"));
  EXPECT_THAT(Script("timeout 30 \"$S\" session exec $ID -- cat <&-"),
              HasSubstr("exit 0\n"));
}

TEST_F(CliSessionExec, InTheBackgroundItIsShownFollowedAndStopped) {
  const std::string output = Script(
      "e=$(\"$S\" session exec $ID -d -c 'echo begun; exec sleep 60'); "
      "\"$S\" session ps $ID; (\"$S\" session attach $ID $e & "
      "sleep 2; \"$S\" session stop $ID $e; wait)");
  EXPECT_THAT(output, HasSubstr("running"));
  EXPECT_THAT(output, HasSubstr("begun\n"));
  EXPECT_THAT(Script("\"$S\" session ps $ID"), Not(HasSubstr("running")));
}

TEST_F(CliSessionExec, CtrlCInterruptsOnlyTheCommand) {
  EXPECT_EQ(
      Script("timeout --foreground -k 30 -s INT 2 \"$S\" session exec $ID -- "
             "sleep 60; echo $?; \"$S\" session exec $ID -- echo there"),
      "124\nthere\nexit 0\n");
}

// script(1) gives it a terminal.
TEST_F(CliSessionExec, AShellIsOnATerminalOfItsOwn) {
  const std::string output = Script(
      "(sleep 2; echo 'tty; exit 5'; sleep 2) | script -qec "
      "\"$S session shell $ID\" /dev/null");
  EXPECT_THAT(output, HasSubstr("/dev/pts/0"));
  EXPECT_THAT(output, HasSubstr("exit 5\n"));
}

}  // namespace
}  // namespace sandglass::testing
