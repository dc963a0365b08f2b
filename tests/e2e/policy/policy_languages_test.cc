// Each language's programs are looked at by its own parser before they run.

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "tests/support/calls/idle_jails.h"
#include "tests/support/calls/prestart.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/programs.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kGate[] = R"({
  "description": "d",
  "languages": ["python", "ruby", "javascript", "java", "go", "cpp"],
  "rules": [
    {"id": "modules", "severity": "deny",
     "modules": ["subprocess", "socket", "child_process", "java.net", "os/exec",
                 "sys/socket.h"]},
    {"id": "calls", "severity": "require_approval",
     "calls": ["os.system", "system", "eval", "java.lang.System.exit",
               "os.Exit"]},
    {"id": "loops", "severity": "warn", "endless_loops": true},
    {"id": "writes", "severity": "note", "writes_files": true}
  ]
})";

constexpr char kWarns[] = R"({
  "description": "d",
  "rules": [
    {"id": "net", "severity": "warn", "languages": ["ruby"],
     "modules": ["socket"]}
  ]
})";

struct Language {
  const char* id;
  const char* good;    // prints 42
  const char* module;  // uses a module that is forbidden, on line 2
  const char* call;    // a call that is asked about
  const char* loop;    // an endless loop behind a condition, then prints 42
  const char* broken;  // no program
  const char* extension;
};

constexpr Language kLanguages[] = {
    {"python", "print(6 * 7)\n", "x = 1\nimport subprocess as s\n",
     "from os import system as f\nf('id')\n",
     "import sys\nif len(sys.argv) > 9:\n  while True:\n    pass\nprint(42)\n",
     "print(\n", ".py"},
    {"ruby", "puts 6 * 7\n", "x = 1\nrequire 'so' + 'cket'\n",
     "Kernel.send(:system, 'id')\n",
     "if ARGV.size > 9\n  while true\n    1\n  end\nend\nputs 42\n",
     "puts (1\n", ".rb"},
    {"javascript", "console.log(6 * 7)\n",
     "let x = 1\nconst c = require('node:child_' + 'process')\n",
     "const e = eval\ne('1')\n",
     "if (process.argv.length > 9) { while (true) { } }\nconsole.log(42)\n",
     "console.log((\n", ".js"},
    {"java",
     "class Main { public static void main(String[] a) {\n"
     "  System.out.println(6 * 7); } }\n",
     "class Main { public static void main(String[] a) throws Exception {\n"
     "  new java.net.ServerSocket(0); } }\n",
     "class Main { public static void main(String[] a) {\n"
     "  System.exit(3); } }\n",
     "class Main { public static void main(String[] a) {\n"
     "  if (a.length > 9) { for (;;) { } }\n  System.out.println(42); } }\n",
     "class Main {\n", ".java"},
    {"go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(6 * 7) }\n",
     "package main\nimport e \"os/exec\"\nfunc main() { e.Command(\"id\") }\n",
     "package main\nimport o \"os\"\nfunc main() { o.Exit(3) }\n",
     "package main\nimport (\"fmt\"; \"os\")\nfunc main() {\n"
     "  if len(os.Args) > 9 { for { } }\n  fmt.Println(42)\n}\n",
     "package main\nfunc main() {\n", ".go"},
    {"cpp", "#include <cstdio>\nint main() { std::printf(\"42\\n\"); }\n",
     "int x;\n#include <sys/socket.h>\nint main() {}\n",
     "#include <cstdlib>\nint main() { std::system(\"id\"); }\n",
     "#include <cstdio>\nint main(int n, char**) {\n"
     "  if (n > 9) { while (true) { } }\n  std::printf(\"42\\n\"); }\n",
     "int main() { /* \n", ".cpp"},
};

constexpr char kAnalyser[] = "javascript-analyse";

class PolicyLanguages : public OwnDaemonTest {
 protected:
  void SetUp() override {
    policy_ = MakeTestDirectory();
    fs::copy(
        SANDGLASS_SOURCE_DIR "/policy/data", policy_,
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::ofstream(policy_ + "/profiles/gate.json") << kGate;
    std::ofstream(policy_ + "/profiles/warns.json") << kWarns;
    StartDaemon({.extra_arguments = {"--policy-dir", policy_}});
  }
  void TearDown() override {
    OwnDaemonTest::TearDown();
    fs::remove_all(policy_);
  }
  v1::RunCodeResponse Run(const Language& language, const std::string& code,
                          const std::string& helper = "") {
    v1::RunCodeRequest request = Program(language.id, code);
    request.set_profile("gate");
    if (!helper.empty()) {
      v1::InputFile& file = *request.add_files();
      file.set_path(absl::StrCat("helper", language.extension));
      file.set_content(helper);
    }
    const RunResult result = client().Run(request);
    EXPECT_THAT(result.status, IsOk()) << language.id;
    return result.response;
  }

  // A daemon that has just started has no zygote yet.
  v1::RunCodeResponse RunWarm(const v1::RunCodeRequest& request,
                              const std::string& kind) {
    v1::RunCodeResponse run;
    for (int time = 0; time < 200 && run.timings().kind() != kind; ++time) {
      if (time > 0) absl::SleepFor(absl::Milliseconds(50));
      run = client().Run(request).response;
    }
    EXPECT_EQ(run.timings().kind(), kind);
    return run;
  }

  std::string policy_;
};

TEST_F(PolicyLanguages, ProgramsWithoutFindingsRun) {
  for (const Language& language : kLanguages) {
    for (int time = 0; time < 2;
         ++time) {  // compiled, and taken from the cache
      const v1::RunCodeResponse run = Run(language, language.good);
      EXPECT_EQ(run.outcome(), v1::OUTCOME_OK)
          << language.id << ": " << run.evidence().explanation();
      EXPECT_EQ(run.stdout().data(), "42\n") << language.id;
      EXPECT_TRUE(run.findings().empty()) << language.id;
    }
  }
}

TEST_F(PolicyLanguages, ForbiddenProgramsDoNotRun) {
  for (const Language& language : kLanguages) {
    for (int time = 0; time < 2; ++time) {
      const v1::RunCodeResponse run = Run(language, language.module);
      EXPECT_EQ(run.outcome(), v1::OUTCOME_DENIED)
          << language.id << ": " << run.evidence().explanation();
      ASSERT_THAT(run.findings(), SizeIs(1)) << language.id;
      EXPECT_EQ(run.findings(0).rule_id(), "modules") << language.id;
      EXPECT_EQ(run.findings(0).line(), 2u) << language.id;
    }
    // Also in another file of it.
    const v1::RunCodeResponse helped =
        Run(language, language.good,
            absl::StrReplaceAll(language.module, {{"class Main", "class B"}}));
    EXPECT_EQ(helped.outcome(), v1::OUTCOME_DENIED)
        << language.id << ": " << helped.evidence().explanation();
  }
}

TEST_F(PolicyLanguages, ProgramsThatNeedApprovalWait) {
  for (const Language& language : kLanguages) {
    const v1::RunCodeResponse run = Run(language, language.call);
    EXPECT_EQ(run.outcome(), v1::OUTCOME_NEEDS_APPROVAL)
        << language.id << ": " << run.evidence().explanation();
    EXPECT_TRUE(run.has_approval()) << language.id;
  }
}

TEST_F(PolicyLanguages, EndlessLoopsAreWarnedOf) {
  for (const Language& language : kLanguages) {
    const v1::RunCodeResponse run = Run(language, language.loop);
    EXPECT_EQ(run.outcome(), v1::OUTCOME_OK)
        << language.id << ": " << run.evidence().explanation();
    EXPECT_EQ(run.stdout().data(), "42\n") << language.id;
    ASSERT_THAT(run.findings(), SizeIs(1)) << language.id;
    EXPECT_EQ(run.findings(0).rule_id(), "loops") << language.id;
  }
}

TEST_F(PolicyLanguages, AProfileThatIsNotInForceIsTriedInEach) {
  for (const Language& language : kLanguages) {
    v1::TestRunRequest request;
    *request.mutable_run() = Program(language.id, language.module);
    request.mutable_run()->set_request_id(absl::StrCat("id-", language.id));
    request.mutable_with_profile()->set_name("other");
    request.mutable_with_profile()->set_text(kGate);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
    v1::TestRunResponse response;
    ASSERT_THAT(client().policy().TestRun(&context, request, &response), IsOk())
        << language.id;
    EXPECT_EQ(response.decision(), v1::OUTCOME_DENIED) << language.id;
    EXPECT_EQ(response.profile(), "other") << language.id;
    // The run of that id is still to come, and runs.
    v1::RunCodeRequest run = Program(language.id, language.good);
    run.set_request_id(absl::StrCat("id-", language.id));
    EXPECT_EQ(client().Run(run).response.stdout().data(), "42\n")
        << language.id;
  }
}

TEST_F(PolicyLanguages, CellsThatOnlyACompilerCouldReadDoNotPass) {
  v1::CreateSessionRequest create;
  create.set_language("java");
  create.set_profile("gate");
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  const RunResult cell = session.Run("6 * 7");
  ASSERT_THAT(cell.status, IsOk());
  EXPECT_EQ(cell.response.outcome(), v1::OUTCOME_DENIED);
  EXPECT_THAT(cell.response.evidence().explanation(),
              HasSubstr("a cell has none"));
}

TEST_F(PolicyLanguages, InvalidProgramsDoNotRun) {
  for (const Language& language : kLanguages) {
    const v1::RunCodeResponse run = Run(language, language.broken);
    EXPECT_NE(run.outcome(), v1::OUTCOME_OK) << language.id;
    EXPECT_EQ(run.stdout().data(), "") << language.id;
  }
}

TEST_F(PolicyLanguages, WhatBreaksAnAnalyserDoesNotPass) {
  const std::string deep(200'000, '(');
  for (const Language& language : kLanguages) {
    const v1::RunCodeResponse run = Run(language, "x = " + deep);
    EXPECT_NE(run.outcome(), v1::OUTCOME_OK) << language.id;
    EXPECT_EQ(run.stdout().data(), "") << language.id;
  }
}

// Ruby's parser is loaded by a child of the process that then runs the program.
TEST_F(PolicyLanguages, RubyIsLookedAtWhereItIsWarm) {
  const Language& ruby = kLanguages[1];
  v1::RunCodeRequest request = Program(ruby.id, ruby.good);
  request.set_profile("gate");
  const v1::RunCodeResponse run = RunWarm(request, "ruby-lean");
  EXPECT_EQ(run.stdout().data(), "42\n");
  EXPECT_TRUE(run.timings().has_analysis());
  EXPECT_EQ(Run(ruby, ruby.module).timings().kind(), "ruby-lean");
}

TEST_F(PolicyLanguages, ARubyProgramSeesNothingOfWhatLooked) {
  v1::RunCodeRequest request = Program("ruby", R"(
p ObjectSpace.each_object(Module).map(&:to_s).grep_v(/0x/).sort
p Object.constants.sort, global_variables.sort, $LOADED_FEATURES, $?
p Kernel.instance_method(:require).source_location, ARGV, $0
p Dir.children("/proc/self/fd").sort, Dir.children("/workspace")
p Dir.children("/proc").grep(/\A\d/).size
begin
  Process.wait
rescue SystemCallError => error
  p error.class
end
p trap("CHLD", "DEFAULT"), $stdin.read, `echo sub`, $?.success?
)");
  const v1::RunCodeResponse plain = RunWarm(request, "ruby-lean");
  EXPECT_EQ(plain.outcome(), v1::OUTCOME_OK) << plain.stderr().data();
  request.set_profile("warns");
  const v1::RunCodeResponse looked = RunWarm(request, "ruby-lean");
  EXPECT_EQ(looked.outcome(), v1::OUTCOME_OK)
      << looked.evidence().explanation();
  EXPECT_TRUE(looked.timings().has_analysis());
  EXPECT_EQ(looked.stdout().data(), plain.stdout().data());
  EXPECT_EQ(looked.stderr().data(), plain.stderr().data());
}

// What looks at JavaScript waits as its interpreters do, and says the same.
TEST_F(PolicyLanguages, JavaScriptIsLookedAtByWhatWaited) {
  const Language& node = kLanguages[2];
  const std::string deep(200'000, '(');
  const std::vector<std::string> programs = {
      node.good,
      node.module,
      node.call,
      node.loop,
      node.broken,
      "require('fs').writeFileSync('\\u0000sandglass: over \\n', 'x')\n",
      deep};
  const auto run_all = [&](bool waited) {
    std::vector<std::string> said;
    for (const std::string& program : programs) {
      for (const std::string& helper : {std::string(), program}) {
        const uint64_t hits = HitsOf(client(), kAnalyser);
        if (waited) {
          EXPECT_TRUE(AwaitIdle(client(), kAnalyser));
        }
        const v1::RunCodeResponse run = Run(node, program, helper);
        EXPECT_EQ(HitsOf(client(), kAnalyser), hits + (waited ? 1 : 0));
        said.push_back(absl::StrCat(v1::Outcome_Name(run.outcome()), "\n",
                                    run.stdout().data()));
        for (const v1::Finding& finding : run.findings()) {
          // Not how long one took that gave up.
          absl::StrAppend(&said.back(),
                          std::regex_replace(finding.ShortDebugString(),
                                             std::regex("after [0-9.]+ m?s"),
                                             "after some time"),
                          "\n");
        }
      }
    }
    return said;
  };
  (void)Run(node, node.good);  // asked for once, they are kept
  const std::vector<std::string> waited = run_all(true);
  StopDaemon();
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"pool": {"floor": 0}})",
                   .extra_arguments = {"--policy-dir", policy_}}));
  EXPECT_EQ(run_all(false), waited);
}

TEST_F(PolicyLanguages, AnAnalyserThatDiedWaitingIsReplacedAndNoRunFails) {
  const Language& node = kLanguages[2];
  (void)Run(node, node.good);
  ASSERT_TRUE(AwaitIdle(client(), kAnalyser));
  int killed = 0;
  for (const Process& process : daemon().Processes()) {
    const std::string command = CommandOf(process.pid);
    if (!absl::StrContains(command, "analyse.cjs")) continue;
    EXPECT_TRUE(absl::StrContains(command, "--wait")) << command;
    if (Kill(process, SIGKILL)) ++killed;
    EXPECT_TRUE(WaitUntil([&] { return FindProcess(process.pid) != process; },
                          absl::Seconds(30)));
  }
  EXPECT_GE(killed, 1);
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(Run(node, node.good).stdout().data(), "42\n");
    EXPECT_EQ(Run(node, node.module).outcome(), v1::OUTCOME_DENIED);
  }
}

// Those of the default profile wait from the start, as long as it has rules
// that need them.
TEST_F(PolicyLanguages, AnalysersWaitAsThePolicyInForceHasIt) {
  ASSERT_TRUE(AwaitIdle(client(), kNode));
  EXPECT_EQ(client().Run(Program("javascript", "1")).response.outcome(),
            v1::OUTCOME_OK);
  EXPECT_EQ(IdleOf(client(), kAnalyser), 0u);
  const std::string path = policy_ + "/profiles/default.json";
  const std::string plain = ReadFile(path);
  std::ofstream(path) << kGate;
  daemon().Signal(SIGHUP);
  EXPECT_TRUE(AwaitIdle(client(), kAnalyser));
  std::ofstream(path) << plain;
  daemon().Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return IdleOf(client(), kAnalyser) == 0; },
                        absl::Seconds(30)));
}

TEST_F(PolicyLanguages, RubyWithMoreNamesThanCanBeToldDoesNotPass) {
  const Language& ruby = kLanguages[1];
  std::string many;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&many, "x.n", i, "\n");
  const v1::RunCodeResponse run = Run(ruby, many);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_DENIED);
  ASSERT_THAT(run.findings(), SizeIs(1));
  EXPECT_EQ(run.findings(0).rule_id(), "analysis-failed");
  EXPECT_THAT(run.findings(0).message(), HasSubstr("different names"));
}

}  // namespace
}  // namespace sandglass::testing
