// `sandglass run` on a terminal, where the one who runs a program is asked for
// consent; and what approvers are shown.

#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using client::RunProcess;
using client::Subprocess;
using client::SubprocessOptions;
using client::SubprocessResult;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kQuestion[] = "[a]pprove, [e]dit, [r]eject? ";
constexpr char kCtrlC[] = "\x03";
constexpr char kCtrlD[] = "\x04";
constexpr int kOurError = 125;
constexpr int kDenied = 161;
constexpr int kNeedsApproval = 160;

class Consent : public DaemonTest {
 protected:
  static void SetUpTestSuite() {
    policy_ = MakeTestDirectory();
    std::error_code error;
    fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy_,
             fs::copy_options::recursive, error);
    EXPECT_FALSE(error) << error.message();
    for (const std::string self : {"true", "false"}) {
      WriteFile(absl::StrCat(policy_, "/profiles/",
                             self == "true" ? "asks" : "asks-others", ".json"),
                absl::StrCat(R"({"description": "d",
        "approval": {"self_approval": )",
                             self, R"(}, "rules": [
        {"id": "ask-eval", "severity": "require_approval",
         "languages": ["python"], "calls": ["eval"]}]})"));
    }
    StartSuite({.extra_arguments = {"--policy-dir", policy_}});
  }
  static void TearDownTestSuite() {
    DaemonTest::TearDownTestSuite();
    std::error_code ignored;
    fs::remove_all(policy_, ignored);
  }
  // The client on a terminal of its own.
  SubprocessOptions OnTerminal(const std::vector<std::string>& args) const {
    SubprocessOptions options;
    options.args = args;
    options.env = {absl::StrCat("SANDGLASS_ADDRESS=", daemon().address()),
                   "NO_COLOR=1", "PATH=/usr/bin:/bin",
                   absl::StrCat("XDG_RUNTIME_DIR=", place_.path()),
                   absl::StrCat("EDITOR=", Editor())};
    options.terminal = true;
    options.terminal_input = true;
    options.controlling = true;
    return options;
  }
  SubprocessOptions Asking(const std::string& code = "print(eval('6*7'))") {
    return OnTerminal({"run", "--profile", "asks", "-l", "python", "-c", code});
  }
  std::string Editor() const { return absl::StrCat(place_.path(), "/editor"); }
  // An editor that is this script; the file is "$1".
  void MakeEditor(const std::string& script) const {
    WriteFile(Editor(), absl::StrCat("#!/bin/sh\n", script, "\n"));
    fs::permissions(Editor(), fs::perms::owner_all);
  }
  std::vector<std::string> LeftByEditor() const {
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(place_.path())) {
      const std::string name = entry.path().filename();
      if (name.find("sandglass-edit") == 0) left.push_back(name);
    }
    return left;
  }
  static v1::ListApprovalsResponse InState(v1::ApprovalState state) {
    grpc::ClientContext context;
    v1::ListApprovalsRequest request;
    request.add_states(state);
    v1::ListApprovalsResponse response;
    EXPECT_THAT(client().policy().ListApprovals(&context, request, &response),
                IsOk());
    return response;
  }
  static int Count(v1::ApprovalState state) {
    return InState(state).approvals_size();
  }

  TempDir place_;
  static std::string policy_;
};

std::string Consent::policy_;

TEST_F(Consent, ApproveLetsItRun) {
  Subprocess run(Asking());
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  run.Type("a\n");
  const SubprocessResult result = run.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("    1  print(eval('6*7'))"),
                    HasSubstr("require_approval ask-eval: The program uses "
                              "eval"),
                    HasSubstr("profile asks: "), HasSubstr("\n42"),
                    HasSubstr("OK after")));
  EXPECT_EQ(Count(v1::APPROVAL_STATE_PENDING), 0);
}

TEST_F(Consent, RejectRunsNothing) {
  const int denied = Count(v1::APPROVAL_STATE_DENIED);
  Subprocess run(Asking("print('ran', eval('1'))"));
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  run.Type("reject\n");
  const SubprocessResult result = run.Wait();
  EXPECT_EQ(result.exit_code, kDenied);
  EXPECT_THAT(result.out, AllOf(HasSubstr("rejected; nothing ran"),
                                Not(HasSubstr("\nran"))));
  EXPECT_EQ(Count(v1::APPROVAL_STATE_DENIED), denied + 1);
}

TEST_F(Consent, AnotherKeyIsAskedAgainAndTheEndRejects) {
  Subprocess run(Asking("print('ran', eval('2'))"));
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  // Outside of a session there is none.
  run.Type("session\n");
  ASSERT_TRUE(run.ReadUntil(absl::StrCat(
      kQuestion, "session\r\n'session' is none of the answers. ", kQuestion)));
  run.Type("x\n");
  ASSERT_TRUE(run.ReadUntil(
      absl::StrCat(kQuestion, "x\r\n'x' is none of the answers. ", kQuestion)));
  run.Type(kCtrlD);
  const SubprocessResult result = run.Wait();
  EXPECT_EQ(result.exit_code, kDenied);
  EXPECT_THAT(result.out, HasSubstr("rejected; nothing ran"));
  EXPECT_EQ(Count(v1::APPROVAL_STATE_PENDING), 0);
}

TEST_F(Consent, CtrlCRejectsTheRun) {
  Subprocess run(Asking("print('ran', eval('3'))"));
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  run.Type(kCtrlC);
  const SubprocessResult result = run.Wait();
  EXPECT_EQ(result.exit_code, 128 + SIGINT);
  EXPECT_THAT(result.out, Not(HasSubstr("\nran")));
  EXPECT_EQ(Count(v1::APPROVAL_STATE_PENDING), 0);
}

TEST_F(Consent, AnEditedProgramIsInspectedAnew) {
  // Once to another program that asks, then to one that doesn't.
  MakeEditor(
      "case \"$(cat \"$1\")\" in *four*) echo 'print(\"mended\")' > \"$1\" ;;\n"
      "*) sed -i s/eval.*/'eval(\"four\")'/ \"$1\" ;; esac\n"
      "touch \"$1.swp\"");
  Subprocess run(Asking("x = eval('4')"));
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  run.Type("e\n");
  ASSERT_TRUE(run.ReadUntil("    1  x = eval(\"four\")"));
  EXPECT_THAT(LeftByEditor(), IsEmpty());
  run.Type("e\n");
  const SubprocessResult result = run.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("mended"));
  EXPECT_THAT(LeftByEditor(), IsEmpty());
  EXPECT_EQ(Count(v1::APPROVAL_STATE_PENDING), 0);
}

TEST_F(Consent, WhatTheEditorLeftAsItWasIsAskedAgain) {
  MakeEditor("true");
  Subprocess run(Asking("x = eval('5')"));
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  run.Type("e\n");
  ASSERT_TRUE(run.ReadUntil("e\r\n\r\nThis program waits"));
  run.Type("a\n");
  EXPECT_EQ(run.Wait().exit_code, 0);
}

TEST_F(Consent, AnEditorThatFailsRunsNothing) {
  MakeEditor("exit 1");
  Subprocess run(Asking("x = eval('6')"));
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  run.Type("e\n");
  const SubprocessResult result = run.Wait();
  EXPECT_EQ(result.exit_code, kOurError);
  EXPECT_THAT(result.out, AllOf(HasSubstr("the editor '"),
                                HasSubstr("failed; nothing ran")));
  EXPECT_THAT(LeftByEditor(), IsEmpty());
  EXPECT_EQ(Count(v1::APPROVAL_STATE_PENDING), 0);
}

TEST_F(Consent, CtrlCBelongsToTheEditor) {
  MakeEditor(
      "trap 'echo print\\(7\\) > \"$1\"; exit 0' INT\n"
      "echo editing; while :; do sleep 0.1; done");
  Subprocess run(Asking("x = eval('7')"));
  ASSERT_TRUE(run.ReadUntil(kQuestion));
  run.Type("e\n");
  ASSERT_TRUE(run.ReadUntil("editing"));
  ASSERT_THAT(LeftByEditor(), SizeIs(1));
  EXPECT_EQ(fs::status(absl::StrCat(place_.path(), "/", LeftByEditor()[0]))
                .permissions(),
            fs::perms::owner_all);
  run.Type(kCtrlC);
  const SubprocessResult result = run.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("^C7"));
}

TEST_F(Consent, AClientThatIsEndedLeavesNoFileOfTheEditor) {
  MakeEditor("echo editing; exec sleep 100");
  for (const int signal : {SIGTERM, SIGHUP}) {
    Subprocess run(Asking("x = eval('8')"));
    ASSERT_TRUE(run.ReadUntil(kQuestion));
    run.Type("e\n");
    ASSERT_TRUE(run.ReadUntil("editing"));
    ASSERT_THAT(LeftByEditor(), SizeIs(1));
    run.Signal(signal);
    EXPECT_EQ(run.Wait().exit_code, 128 + signal);
    EXPECT_THAT(LeftByEditor(), IsEmpty());
  }
  EXPECT_EQ(Count(v1::APPROVAL_STATE_PENDING), 0);
}

TEST_F(Consent, InASessionItCanBeForAllRuns) {
  v1::CreateSessionRequest request = PythonSession();
  request.set_profile("asks");
  TestSession session(client(), request);
  ASSERT_THAT(session.status(), IsOk());
  const auto cell = [&](const std::string& code) {
    return OnTerminal({"session", "run", session.id(), "-c", code});
  };
  {
    Subprocess run(cell("print(eval('40+2'))"));
    ASSERT_TRUE(run.ReadUntil("[s]ession: always for these rules"));
    run.Type("s\n");
    const SubprocessResult result = run.Wait();
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("\n42"));
  }
  const SubprocessResult next = RunProcess(cell("print(eval('40+3'))"));
  EXPECT_EQ(next.exit_code, 0);
  EXPECT_THAT(next.out, AllOf(HasSubstr("43"), Not(HasSubstr("[a]pprove"))));
}

TEST_F(Consent, ACallerWhoMayNotApproveIsNotAsked) {
  SubprocessOptions options = Asking("x = eval('9')");
  options.args[2] = "asks-others";
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, kNeedsApproval);
  EXPECT_THAT(result.out, Not(HasSubstr("[a]pprove")));
}

TEST_F(Consent, AnApproverIsShownWhatComesWithTheProgram) {
  v1::RunCodeRequest request = Python("print(eval(open('data.txt').read()))");
  request.set_profile("asks-others");
  request.set_stdin("typed");
  v1::InputFile& text = *request.add_files();
  text.set_path("data.txt");
  text.set_content("6 *\n7\x1b[2J");
  v1::InputFile& binary = *request.add_files();
  binary.set_path("blob");
  binary.set_content(std::string("a\0b", 3));
  const RunResult asked = Run(request);
  ASSERT_THAT(asked, OutcomeIs(v1::OUTCOME_NEEDS_APPROVAL));
  const std::string id = asked.response.approval().approval_id();
  const v1::ListApprovalsResponse pending = InState(v1::APPROVAL_STATE_PENDING);
  for (const v1::Approval& listed : pending.approvals()) {
    EXPECT_EQ(listed.code(), "");
    for (const auto& file : listed.files()) EXPECT_FALSE(file.has_text());
  }
  const SubprocessResult shown =
      RunProcess(OnTerminal({"approvals", "show", id}));
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(
      shown.out,
      AllOf(HasSubstr("with the file data.txt, 9 B, sha256 "),
            HasSubstr("with the file blob, 3 B, sha256 "),
            HasSubstr("reads standard input, 5 B"),
            HasSubstr("data.txt:\r\n\r\n    1  6 *\r\n    2  7\\x1b[2J"),
            HasSubstr("blob: not text, or not kept"),
            HasSubstr("standard input:\r\n\r\n    1  typed")));
  const SubprocessResult rejected =
      RunProcess(OnTerminal({"approvals", "deny", id}));
  EXPECT_EQ(rejected.exit_code, 0);
  EXPECT_THAT(RunProcess(OnTerminal({"approvals", "show", id})).out,
              HasSubstr("data.txt: not text, or not kept"));
}

}  // namespace
}  // namespace sandglass::testing
