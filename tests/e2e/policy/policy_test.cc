// Rules look at a program before it runs, a person is asked, and what they say
// is in the answer.

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kGate[] = R"({
  "description": "d",
  "rules": [
    {"id": "no-os", "severity": "deny", "languages": ["python"],
     "message": "not here", "modules": ["os", "subprocess"]},
    {"id": "ask-eval", "severity": "require_approval", "languages": ["python"],
     "calls": ["eval", "exec"]},
    {"id": "loops", "severity": "warn", "languages": ["python"],
     "endless_loops": true},
    {"id": "writes", "severity": "note", "languages": ["python"],
     "writes_files": true},
    {"id": "hidden", "severity": "deny", "hidden_text": true}
  ],
  "approval": {"self_approval": SELF, "expires_after": "EXPIRES"}
})";

std::string Gate(const std::string& self, const std::string& expires) {
  std::string text = kGate;
  text.replace(text.find("SELF"), 4, self);
  text.replace(text.find("EXPIRES"), 7, expires);
  return text;
}

class Policy : public OwnDaemonTest {
 protected:
  void SetUp() override {
    policy_ = MakeTestDirectory();
    fs::copy(
        SANDGLASS_SOURCE_DIR "/policy/data", policy_,
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    WriteProfile("gate", Gate("false", "10m"));
    WriteProfile("self", Gate("true", "10m"));
    WriteProfile("brief", Gate("true", "1s"));
    WriteProfile("warns", R"({"description": "d", "rules": [
      {"id": "loops", "severity": "warn", "endless_loops": true}]})");
    WriteProfile("every", R"({"description": "d", "rules": [
      {"id": "all", "severity": "require_approval", "every_run": true}],
      "approval": {"self_approval": true}})");
    StartDaemon({.config = R"({"socket": {"mode": "0666"},
                               "approvers": ["23456"]})",
                 .extra_arguments = {"--policy-dir", policy_}});
  }
  void TearDown() override {
    OwnDaemonTest::TearDown();
    fs::remove_all(policy_);
  }
  void WriteProfile(const std::string& name, const std::string& text) const {
    std::ofstream(absl::StrCat(policy_, "/profiles/", name, ".json")) << text;
  }

  static v1::RunCodeRequest In(const std::string& profile,
                               const std::string& code) {
    v1::RunCodeRequest request = Python(code);
    request.set_profile(profile);
    return request;
  }
  v1::RunCodeResponse Run(const v1::RunCodeRequest& request) {
    const RunResult result = client().Run(request);
    EXPECT_THAT(result.status, IsOk());
    return result.response;
  }
  v1::RunCodeResponse Run(const std::string& profile, const std::string& code) {
    return Run(In(profile, code));
  }
  grpc::Status Approve(const std::string& id) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
    v1::ApproveRequest request;
    request.set_approval_id(id);
    v1::ApproveResponse response;
    return client().policy().Approve(&context, request, &response);
  }
  // The command line tool as another account; what it printed and its exit
  // code.
  std::string As(int uid, const std::string& words) {
    return RunShell(absl::StrCat(
        "exec 2>&1; SANDGLASS_ADDRESS=", daemon().address(),
        " setpriv --reuid ", uid, " --regid ", uid, " --clear-groups ",
        SANDGLASS_BINARY, " ", words, " </dev/null; echo \"exit $?\""));
  }

  std::string policy_;
};

TEST_F(Policy, ARuleKeepsAProgramFromRunning) {
  const v1::RunCodeResponse denied =
      Run("gate", "import os as o\nprint('ran')\no.system('id')\n");
  EXPECT_EQ(denied.outcome(), v1::OUTCOME_DENIED);
  EXPECT_EQ(denied.stdout().data(), "");
  EXPECT_FALSE(denied.has_exit_code());
  EXPECT_FALSE(denied.has_usage());
  EXPECT_EQ(denied.evidence().rule(), "policy-denied");
  EXPECT_EQ(denied.evidence().phase(), v1::PHASE_ANALYSIS);
  EXPECT_THAT(denied.evidence().explanation(),
              AllOf(HasSubstr("rule no-os"), HasSubstr("not here"),
                    HasSubstr("line 1")));
  ASSERT_THAT(denied.findings(), SizeIs(1));
  EXPECT_EQ(denied.findings(0).rule_id(), "no-os");
  EXPECT_EQ(denied.findings(0).severity(), v1::SEVERITY_DENY);
  EXPECT_EQ(denied.findings(0).path(), "main.py");
  EXPECT_EQ(denied.findings(0).line(), 1u);
  EXPECT_EQ(denied.findings(0).column(), 1u);
}

TEST_F(Policy, TricksAreFoundByTheRules) {
  for (const char* code :
       {"from os import system as s\ns('id')", "__import__('os')",
        "__import__('o' + 's').system('id')",
        "import importlib\nimportlib.import_module('os')",
        "import importlib as i\ni.import_module(input())",
        "__import__(chr(111) + 's')", "import sys\nsys.modules['os']",
        "if 0:\n  pass\nelse:\n  def f():\n    import subprocess\n",
        "# -*- coding: utf-7 -*-\n+AGkAbQBwAG8AcgB0- os\n",
        "\xef\xbb\xbfimport os\n", "import \xef\xbd\x8f\xef\xbd\x93\n",
        "import os.path as p\n", "import os\\\n.path\n"}) {
    const v1::RunCodeResponse response = Run("gate", code);
    EXPECT_EQ(response.outcome(), v1::OUTCOME_DENIED) << code;
    EXPECT_EQ(response.stdout().data(), "") << code;
  }
  EXPECT_EQ(Run("gate", "x = 1  # \xe2\x80\xae import\nprint(x)").outcome(),
            v1::OUTCOME_DENIED);
}

TEST_F(Policy, ProgramsThatPassRunAsEver) {
  const v1::RunCodeResponse run =
      Run("gate", "import math\nos = 'a string'\nprint(math.sqrt(16), os)\n");
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(run.stdout().data(), "4.0 a string\n");
  EXPECT_THAT(run.findings(), IsEmpty());
  EXPECT_TRUE(run.timings().has_analysis());
  EXPECT_EQ(run.timings().kind(), "python-lean");
  // A syntax error is the interpreter's to tell.
  const v1::RunCodeResponse broken = Run("gate", "print(1\n");
  EXPECT_EQ(broken.outcome(), v1::OUTCOME_NONZERO_EXIT);
  EXPECT_THAT(broken.stderr().data(), HasSubstr("SyntaxError"));
  ASSERT_THAT(broken.findings(), SizeIs(1));
  EXPECT_EQ(broken.findings(0).rule_id(), "syntax-error");
}

TEST_F(Policy, FindingsThatStopNothingAreTold) {
  const v1::RunCodeResponse run =
      Run("gate",
          "open('x', 'w').write('a')\nimport sys\nif 0:\n  while True:\n"
          "    pass\nprint('ran')\n");
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(run.stdout().data(), "ran\n");
  ASSERT_THAT(run.findings(), SizeIs(2));
  EXPECT_EQ(run.findings(0).rule_id(), "loops");
  EXPECT_EQ(run.findings(0).line(), 4u);
  EXPECT_EQ(run.findings(0).column(), 3u);
  EXPECT_EQ(run.findings(1).rule_id(), "writes");
}

TEST_F(Policy, OtherFilesOfTheProgramAreLookedAtToo) {
  v1::RunCodeRequest request = In("gate", "import helper\n");
  v1::InputFile& file = *request.add_files();
  file.set_path("helper.py");
  file.set_content("import os\n");
  const v1::RunCodeResponse denied = Run(request);
  EXPECT_EQ(denied.outcome(), v1::OUTCOME_DENIED);
  ASSERT_THAT(denied.findings(), SizeIs(1));
  EXPECT_EQ(denied.findings(0).path(), "helper.py");
  request.mutable_files(0)->set_path("helper.pyc");
  const v1::RunCodeResponse opaque = Run(request);
  EXPECT_EQ(opaque.outcome(), v1::OUTCOME_DENIED);
  EXPECT_EQ(opaque.findings(0).rule_id(), "analysis-failed");
  request.mutable_files(0)->set_path("data.txt");
  EXPECT_NE(Run(request).outcome(), v1::OUTCOME_DENIED);
}

TEST_F(Policy, AFreshInterpreterIsNoWayAround) {
  v1::RunCodeRequest request = In("gate", "import os\n");
  (*request.mutable_env())["PYTHONHASHSEED"] = "1";
  EXPECT_EQ(Run(request).outcome(), v1::OUTCOME_DENIED);
  request.set_code("print(7)");
  const v1::RunCodeResponse run = Run(request);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(run.stdout().data(), "7\n");
  EXPECT_EQ(run.timings().kind(), "exec");
}

TEST_F(Policy, WhatBreaksTheParserDoesNotPass) {
  const std::string deep =
      "x = " + std::string(100'000, '(') + std::string(100'000, ')');
  std::string sum = "x = 1";
  for (int i = 0; i < 100'000; ++i) sum += "+1";
  std::string names;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&names, "f.n", i, "()\n");
  for (const std::string& code : {sum, names}) {
    const v1::RunCodeResponse response = Run("gate", code);
    EXPECT_EQ(response.outcome(), v1::OUTCOME_DENIED);
    ASSERT_THAT(response.findings(), SizeIs(1));
    EXPECT_EQ(response.findings(0).rule_id(), "analysis-failed");
    EXPECT_EQ(response.findings(0).severity(), v1::SEVERITY_DENY);
  }
  // The parser itself refuses this, and so does the interpreter.
  const v1::RunCodeResponse refused = Run("gate", deep);
  EXPECT_NE(refused.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(refused.stdout().data(), "");
  // Where nothing waits for the look, it is a warning.
  const v1::RunCodeResponse warned = Run("warns", names);
  EXPECT_EQ(warned.outcome(), v1::OUTCOME_NONZERO_EXIT);
  ASSERT_THAT(warned.findings(), SizeIs(1));
  EXPECT_EQ(warned.findings(0).severity(), v1::SEVERITY_WARN);
}

TEST_F(Policy, ARunThatNeedsApprovalRunsOnceAfterIt) {
  v1::RunCodeRequest request = In("self", "print(eval('6 * 7'))");
  v1::RunCodeResponse asked = Run(request);
  EXPECT_EQ(asked.outcome(), v1::OUTCOME_NEEDS_APPROVAL);
  EXPECT_EQ(asked.stdout().data(), "");
  ASSERT_TRUE(asked.has_approval());
  EXPECT_TRUE(asked.approval().self_approval());
  const std::string id = asked.approval().approval_id();
  // The same run again is the same question.
  EXPECT_EQ(Run(request).approval().approval_id(), id);

  request.set_approval_id(id);
  const RunResult early = client().Run(request);
  EXPECT_EQ(DetailsOf(early.status).reason, "APPROVAL_PENDING");
  ASSERT_THAT(Approve(id), IsOk());
  EXPECT_EQ(DetailsOf(Approve(id)).reason, "APPROVAL_ANSWERED");
  // Not for another program, other arguments, other limits, another profile.
  v1::RunCodeRequest other = request;
  other.set_code("print(eval('6 * 8'))");
  EXPECT_EQ(DetailsOf(client().Run(other).status).reason, "APPROVAL_MISMATCH");
  other = request;
  other.add_args("x");
  EXPECT_EQ(DetailsOf(client().Run(other).status).reason, "APPROVAL_MISMATCH");
  other = request;
  other.mutable_limits()->set_max_processes(32);
  EXPECT_EQ(DetailsOf(client().Run(other).status).reason, "APPROVAL_MISMATCH");
  other = request;
  other.set_profile("brief");
  EXPECT_EQ(DetailsOf(client().Run(other).status).reason, "APPROVAL_MISMATCH");

  const v1::RunCodeResponse run = Run(request);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(run.stdout().data(), "42\n");
  ASSERT_THAT(run.findings(), SizeIs(1));
  EXPECT_EQ(run.findings(0).severity(), v1::SEVERITY_REQUIRE_APPROVAL);
  EXPECT_EQ(DetailsOf(client().Run(request).status).reason, "APPROVAL_USED");
}

TEST_F(Policy, OfManyAtOnceOneUsesAnApproval) {
  v1::RunCodeRequest request = In("self", "print(eval('1'))");
  const std::string id = Run(request).approval().approval_id();
  ASSERT_THAT(Approve(id), IsOk());
  request.set_approval_id(id);
  int ran = 0;
  for (const RunResult& result :
       client().RunAll(std::vector<v1::RunCodeRequest>(8, request), 8)) {
    if (result.status.ok() && result.response.outcome() == v1::OUTCOME_OK) {
      ++ran;
    } else if (result.status.ok()) {
      EXPECT_EQ(result.response.outcome(), v1::OUTCOME_NEEDS_APPROVAL);
    } else {
      EXPECT_EQ(DetailsOf(result.status).reason, "APPROVAL_USED");
    }
  }
  EXPECT_EQ(ran, 1);
}

TEST_F(Policy, AnApprovalExpires) {
  v1::RunCodeRequest request = In("brief", "print(eval('1'))");
  const std::string id = Run(request).approval().approval_id();
  ASSERT_THAT(Approve(id), IsOk());
  request.set_approval_id(id);
  std::string reason;
  const absl::Time start = absl::Now();
  while (reason.empty() && absl::Now() - start < absl::Seconds(30)) {
    // A program that is another run each time, so that the approval stays.
    v1::RunCodeRequest other = request;
    other.add_args("x");
    const std::string now = DetailsOf(client().Run(other).status).reason;
    EXPECT_EQ(now, "APPROVAL_MISMATCH");
    if (absl::Now() - start > absl::Seconds(2)) {
      reason = DetailsOf(client().Run(request).status).reason;
    }
  }
  EXPECT_EQ(reason, "APPROVAL_EXPIRED");
}

TEST_F(Policy, OnlyApproversApproveForOthers) {
  // Another account asks; the test itself, root, is an approver.
  const std::string asked =
      As(34567, "run --profile gate -l python -c 'print(eval(\"1\"))'");
  EXPECT_THAT(asked, AllOf(HasSubstr("NEEDS_APPROVAL"), HasSubstr("ask-eval"),
                           HasSubstr("exit 160")));
  const size_t at = asked.find("approve appr-");
  ASSERT_NE(at, std::string::npos) << asked;
  const std::string id = asked.substr(at + 8, 21);
  const std::string run =
      absl::StrCat("run --profile gate -l python --approval ", id,
                   " -c 'print(eval(\"1\"))'");
  // Itself it may not; a third doesn't even see it.
  EXPECT_THAT(As(34567, "approvals approve " + id),
              AllOf(HasSubstr("doesn't let callers approve their own"),
                    HasSubstr("exit 125")));
  EXPECT_THAT(As(45678, "approvals approve " + id),
              HasSubstr("there is no approval"));
  EXPECT_THAT(As(45678, run), HasSubstr("there is no approval"));
  EXPECT_THAT(As(34567, run), HasSubstr("nobody has answered"));
  EXPECT_THAT(As(34567, "approvals"), HasSubstr(id));
  EXPECT_THAT(As(45678, "approvals"), ::testing::Not(HasSubstr(id)));
  // An account that the configuration names.
  EXPECT_THAT(As(23456, "approvals show " + id),
              AllOf(HasSubstr("1  print(eval(\"1\"))"), HasSubstr("uid:34567"),
                    HasSubstr("ask-eval")));
  EXPECT_THAT(As(23456, "approvals approve " + id + " --comment fine"),
              HasSubstr("exit 0"));
  // Not even an approver may use what is another's.
  EXPECT_THAT(As(23456, run), HasSubstr("there is no approval"));
  EXPECT_THAT(As(34567, run), AllOf(HasSubstr("1\n"), HasSubstr("exit 0")));
  EXPECT_THAT(As(34567, run), HasSubstr("used up"));
}

TEST_F(Policy, ADeniedRunStaysDenied) {
  const std::string asked =
      As(34567, "run --profile gate -l python -c 'exec(\"1\")'");
  const size_t at = asked.find("approve appr-");
  ASSERT_NE(at, std::string::npos) << asked;
  const std::string id = asked.substr(at + 8, 21);
  EXPECT_THAT(As(23456, "approvals deny " + id + " --comment 'not today'"),
              HasSubstr("exit 0"));
  EXPECT_THAT(As(34567, "run --profile gate -l python --approval " + id +
                            " -c 'exec(\"1\")'"),
              AllOf(HasSubstr("not today"), HasSubstr("exit 125")));
}

TEST_F(Policy, ApprovalsDieWithTheDaemon) {
  v1::RunCodeRequest request = In("self", "print(eval('1'))");
  const std::string id = Run(request).approval().approval_id();
  ASSERT_THAT(Approve(id), IsOk());
  ASSERT_NO_FATAL_FAILURE(StopDaemon());
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.extra_arguments = {"--policy-dir", policy_}}));
  request.set_approval_id(id);
  EXPECT_EQ(DetailsOf(client().Run(request).status).reason,
            "APPROVAL_NOT_FOUND");
}

TEST_F(Policy, CellsOfASessionAreLookedAtOutsideOfIt) {
  v1::CreateSessionRequest create = PythonSession();
  create.set_profile("self");
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_EQ(session.Run("x = 41").response.outcome(), v1::OUTCOME_OK);
  // Whatever a cell did to its kernel.
  EXPECT_EQ(session
                .Run("import builtins\n"
                     "builtins.compile = lambda *a, **k: None")
                .response.outcome(),
            v1::OUTCOME_OK);
  EXPECT_EQ(session.Run("import os").response.outcome(), v1::OUTCOME_DENIED);
  const RunResult asked = session.Run("eval('x')");
  EXPECT_EQ(asked.response.outcome(), v1::OUTCOME_NEEDS_APPROVAL);
  {
    grpc::ClientContext context;
    v1::ApproveRequest approve;
    approve.set_approval_id(asked.response.approval().approval_id());
    approve.set_for_session(true);
    v1::ApproveResponse approved;
    ASSERT_THAT(client().policy().Approve(&context, approve, &approved),
                IsOk());
  }
  // From now on in this session, and in no other.
  EXPECT_EQ(session.Run("y = eval('x + 1')").response.outcome(),
            v1::OUTCOME_OK);
  EXPECT_EQ(session.Run("import os").response.outcome(), v1::OUTCOME_DENIED);
  TestSession other(client(), create);
  EXPECT_EQ(other.Run("eval('1')").response.outcome(),
            v1::OUTCOME_NEEDS_APPROVAL);
}

TEST_F(Policy, EveryRunCanNeedAnApprovalInAnyLanguage) {
  v1::RunCodeRequest request = Bash("echo hi");
  request.set_profile("every");
  const v1::RunCodeResponse asked = Run(request);
  EXPECT_EQ(asked.outcome(), v1::OUTCOME_NEEDS_APPROVAL);
  ASSERT_THAT(Approve(asked.approval().approval_id()), IsOk());
  request.set_approval_id(asked.approval().approval_id());
  EXPECT_EQ(Run(request).stdout().data(), "hi\n");
}

TEST_F(Policy, TheShippedStrictProfileIsStrict) {
  EXPECT_EQ(Run("strict", "import math, json\nprint(math.pi)").outcome(),
            v1::OUTCOME_OK);
  for (const char* code :
       {"import os", "import socket", "import ctypes", "eval('1')",
        "open('x', 'w')", "getattr(__builtins__, 'ev' + 'al')('1')",
        "import importlib", "__import__('math')", "import numpy"}) {
    EXPECT_EQ(Run("strict", code).outcome(), v1::OUTCOME_DENIED) << code;
  }
  v1::RunCodeRequest ruby = Program("ruby", "puts 1");
  ruby.set_profile("strict");
  EXPECT_EQ(client().Run(ruby).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Policy, ProfilesCanBeCheckedAndTestedFromTheCommandLine) {
  TempDir directory;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(directory.path() + "/" + name) << text;
  };
  fs::permissions(directory.path(), fs::perms(0755));
  write("new.json", Gate("false", "10m"));
  write("bad.json", R"({"limits": {"wall_tme": "3s"}, "rules": [
    {"id": "a", "severity": "deny", "endless_loops": true}]})");
  write("main.py", "import os\n");
  const std::string at = directory.path() + "/";
  EXPECT_THAT(As(34567, "policy check " + at + "new.json"),
              AllOf(HasSubstr("imports or uses os, subprocess doesn't run"),
                    HasSubstr("wall_time: 30 s"), HasSubstr("exit 0")));
  EXPECT_THAT(As(34567, "policy check " + at + "bad.json"),
              AllOf(HasSubstr("wall_tme"), HasSubstr("exit 1")));
  EXPECT_THAT(As(34567, "policy test " + at + "new.json " + at + "main.py"),
              AllOf(HasSubstr("DENIED"), HasSubstr("main.py:1:1"),
                    HasSubstr("exit 161")));
  EXPECT_THAT(As(34567, "policy test gate -l py -c 'eval(\"1\")'"),
              AllOf(HasSubstr("NEEDS_APPROVAL"), HasSubstr("exit 160")));
  EXPECT_THAT(As(34567, "policy test default -l py -c 'print(1)'"),
              AllOf(HasSubstr("WOULD RUN"), HasSubstr("exit 0")));
  EXPECT_THAT(As(34567, "policy test " + at + "bad.json " + at + "main.py"),
              HasSubstr("exit 125"));
  // Nobody was asked.
  EXPECT_THAT(As(0, "approvals --all"),
              AllOf(HasSubstr("APPROVAL ID"), HasSubstr("exit 0"),
                    ::testing::Not(HasSubstr("appr-"))));
}

}  // namespace
}  // namespace sandglass::testing
