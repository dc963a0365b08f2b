// The compile phase as clients see it. What compilers are sent to harm is in
// bad_input_test.cc, what languages have to do in conformance_test.cc.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/text.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kHello[] =
    "#include <iostream>\nint main() { std::cout << \"hi\\n\"; }\n";
constexpr char kBroken[] = "int main() {\n  return \"no\";\n}\n";
// Keeps a compiler busy for longer than any test waits.
constexpr char kSlow[] =
    "constexpr unsigned F(unsigned n) {\n"
    "  for (int i = 0; i < 1000; ++i) {\n"
    "    for (int j = 0; j < 1000; ++j) n = n * 3 + 1;\n"
    "  }\n"
    "  return n;\n"
    "}\n"
    "template <int N> struct A {\n"
    "  static constexpr unsigned v = A<N - 1>::v + F(N);\n"
    "};\n"
    "template <> struct A<0> { static constexpr unsigned v = 1; };\n"
    "int main() { return A<500>::v & 1; }\n";

class Compile : public DaemonTest {};

TEST_F(Compile, AnswersWithBothPhases) {
  const RunResult result = Run(Program("cpp", kHello));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::RunCodeResponse& response = result.response;
  EXPECT_EQ(response.stdout().data(), "hi\n");
  EXPECT_EQ(response.evidence().phase(), v1::PHASE_RUN);
  ASSERT_TRUE(response.has_compile());
  const v1::PhaseResult& compile = response.compile();
  EXPECT_EQ(compile.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(compile.exit_code(), 0);
  EXPECT_EQ(compile.evidence().phase(), v1::PHASE_COMPILE);
  EXPECT_GT(compile.usage().peak_memory_bytes(), uint64_t{8} << 20);
  EXPECT_GE(compile.limits().memory_bytes(), uint64_t{512} << 20);
  EXPECT_EQ(response.limits().memory_bytes(), uint64_t{256} << 20);
  EXPECT_LT(response.usage().peak_memory_bytes(),
            compile.usage().peak_memory_bytes());
  // The compiler's time is no part of the run's, and both are in the total.
  const v1::PhaseTimings& timings = response.timings();
  EXPECT_GT(ToAbsl(timings.compile()), ToAbsl(compile.usage().wall_time()));
  EXPECT_LT(ToAbsl(timings.run()), ToAbsl(timings.compile()));
  EXPECT_GT(ToAbsl(timings.total()), ToAbsl(timings.compile()));
}

TEST_F(Compile, WarningsAreKeptApartFromTheProgramsOutput) {
  const RunResult result =
      Run(Program("cpp", "#warning look here\nint main() { return 3; }\n"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 3);
  EXPECT_EQ(result.response.stderr().data(), "");
  EXPECT_THAT(result.response.compile().stderr().data(),
              HasSubstr("main.cpp:1:2: warning: #warning look here"));
}

TEST_F(Compile, AStreamTellsOfTheCompileBeforeTheProgramStarts) {
  const StreamResult good = client().Stream(Program("cpp", kHello));
  ASSERT_THAT(good, IsOk());
  ASSERT_GE(good.events.size(), 4u);
  EXPECT_EQ(good.events[0].compiled().outcome(), v1::OUTCOME_OK);
  EXPECT_TRUE(good.events[1].has_started());
  EXPECT_TRUE(good.events[2].has_chunk());
  EXPECT_TRUE(good.events.back().has_result());

  const StreamResult bad = client().Stream(Program("cpp", kBroken));
  ASSERT_THAT(bad, IsOk());
  ASSERT_EQ(bad.events.size(), 2u);
  EXPECT_EQ(bad.events[0].compiled().outcome(), v1::OUTCOME_COMPILE_ERROR);
  EXPECT_THAT(bad.events[0].compiled().stderr().data(),
              HasSubstr("main.cpp:2"));
  EXPECT_EQ(bad.result()->outcome(), v1::OUTCOME_COMPILE_ERROR);
}

TEST_F(Compile, ARepeatGetsTheSameEvents) {
  for (const char* code : {kHello, kBroken}) {
    v1::RunCodeRequest request = Program("cpp", code);
    request.set_request_id(absl::StrCat("repeat-", strlen(code)));
    const StreamResult first = client().Stream(request);
    const StreamResult second = client().Stream(request);
    ASSERT_THAT(second, IsOk());
    EXPECT_EQ(second.events.size(), first.events.size());
    EXPECT_TRUE(second.events[0].has_compiled());
    EXPECT_TRUE(second.result()->replayed());
    EXPECT_EQ(second.result()->run_id(), first.result()->run_id());
  }
}

TEST_F(Compile, ACancelledCallStopsTheCompiler) {
  const std::vector<Process> before = daemon().Processes();
  const absl::Time start = absl::Now();
  {
    StreamCall call(client().stub(), Program("cpp", kSlow));
    // Until the compiler is at work.
    EXPECT_TRUE(WaitUntil(
        [&] {
          const std::vector<Process> now = daemon().Processes();
          return std::any_of(now.begin(), now.end(), [&](const Process& each) {
            return NameOf(each.pid) == "cc1plus" &&
                   std::find(before.begin(), before.end(), each) ==
                       before.end();
          });
        },
        absl::Seconds(20)));
    call.Cancel();
    EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  // The fixture sees to it that no process is left.
}

TEST_F(Compile, TheCallsDeadlineHoldsForTheCompilerToo) {
  const RunResult result =
      client().Run(Program("cpp", kSlow), absl::Seconds(3));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(result.response.evidence().phase(), v1::PHASE_COMPILE);
  EXPECT_LT(ToAbsl(result.response.compile().limits().wall_time()),
            absl::Seconds(3));
}

// Each phase has a jail of its own: what the compiler leaves behind besides the
// program is not there when that runs.
TEST_F(Compile, TheProgramRunsInAFreshJail) {
  v1::RunCodeRequest request =
      Program("cpp",
              "#include <filesystem>\n#include <iostream>\n"
              "int main() {\n"
              "  for (auto& e : std::filesystem::directory_iterator(\".\"))\n"
              "    std::cout << e.path().filename().string() << '\\n';\n"
              "  std::cout << std::filesystem::is_empty(\"/tmp\") << '\\n';\n"
              "}\n");
  v1::InputFile& file = *request.add_files();
  file.set_path("data.txt");
  file.set_content("x");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  std::vector<std::string> lines = Lines(result.response.stdout().data());
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines,
            (std::vector<std::string>{"1", "data.txt", "main", "main.cpp"}));
}

TEST_F(Compile, FilesMayNotStandWhereTheProgramGoes) {
  v1::RunCodeRequest request = Program("cpp", kHello);
  request.add_files()->set_path("main");
  EXPECT_THAT(Run(request), RefusesField("files[0].path"));
  request.mutable_files(0)->set_path("main/below.txt");
  EXPECT_THAT(Run(request), RefusesField("files[0].path"));
}

TEST_F(Compile, ALanguagesOwnFilesGiveWayToTheRequests) {
  v1::RunCodeRequest request =
      Program("go",
              "package main\n\nimport \"other/sub\"\n\n"
              "func main() { sub.Hello() }\n");
  v1::InputFile& module = *request.add_files();
  module.set_path("go.mod");
  module.set_content("module other\n\ngo 1.19\n");
  v1::InputFile& sub = *request.add_files();
  sub.set_path("sub/sub.go");
  sub.set_content("package sub\n\nfunc Hello() { println(\"from sub\") }\n");
  const RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stderr().data(), "from sub\n");
}

TEST_F(Compile, WhatIsPreparedCanOnlyBeRead) {
  const RunResult result = Run(Bash(
      "cd /var/cache/sandglass || exit 1\n"
      "ls -d */.complete | sed 's/-.*//' | sort -u | tr '\\n' ' '\n"
      "for d in */; do touch \"$d/x\" 2>/dev/null && echo \"wrote $d\"; done\n"
      "find . -type f | head -3 | while read f; do\n"
      "  { echo x >> \"$f\"; } 2>/dev/null && echo \"changed $f\"\n"
      "  rm -f \"$f\" 2>/dev/null && echo \"removed $f\"\n"
      "done\n"
      "grep -c ' /var/cache/sandglass [^ ]* ro,nosuid,nodev,noexec' "
      "/proc/self/mounts"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(),
            "bash cpp go java javascript python ruby 1\n")
      << Describe(result);
}

// All jails share what is prepared: locks on it must hold up nobody.
TEST_F(Compile, LocksOnWhatIsPreparedHoldUpNoCompiler) {
  v1::RunCodeRequest locker =
      Program("python",
              "import fcntl, os, time\nheld = []\n"
              "for root, _, names in os.walk('/var/cache/sandglass'):\n"
              "  for name in names:\n"
              "    try:\n"
              "      held.append(open(os.path.join(root, name)))\n"
              "      fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
              "    except OSError: pass\n"
              "print('locked', flush=True)\ntime.sleep(25)\n");
  StreamCall call(client().stub(), locker);
  ASSERT_TRUE(call.ReadUntil("locked"));
  v1::RunCodeRequest go = Program("go", "package main\nfunc main() {}\n");
  go.mutable_compile_limits()->mutable_wall_time()->set_seconds(10);
  EXPECT_THAT(Run(go), OutcomeIs(v1::OUTCOME_OK));
  v1::RunCodeRequest java =
      Program("java", "class A { public static void main(String[] a) {} }");
  java.mutable_compile_limits()->mutable_wall_time()->set_seconds(10);
  EXPECT_THAT(Run(java), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(Run(Program("cpp", kHello)), OutcomeIs(v1::OUTCOME_OK));
  call.Cancel();
  call.Finish();
}

TEST_F(Compile, ALibraryIsNoProgram) {
  const RunResult result =
      Run(Program("go", "package solution\n\nfunc Add() {}\n"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_COMPILE_ERROR));
  EXPECT_EQ(result.response.evidence().rule(), "compile-artifact");
  EXPECT_THAT(result.response.evidence().explanation(),
              HasSubstr("package main"));
}

// A file's name may look like an option of the compiler.
TEST_F(Compile, NamesOfFilesAreNoOptions) {
  for (const char* name : {"-ooops.cpp", "@args.cpp", "-fplugin=x.cpp"}) {
    v1::RunCodeRequest request =
        Program("cpp", "int f();\nint main() { return f(); }\n");
    v1::InputFile& file = *request.add_files();
    file.set_path(name);
    file.set_content("int f() { return 5; }\n");
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT)) << name;
    EXPECT_EQ(result.response.exit_code(), 5) << name;
  }
}

TEST_F(Compile, ServerInfoSaysWhatLanguagesNeed) {
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  int compiled = 0;
  for (const v1::LanguageInfo& language : info.languages()) {
    EXPECT_TRUE(language.available()) << language.unavailable_reason();
    EXPECT_NE(language.version(), "") << language.id();
    compiled += language.compiled() ? 1 : 0;
    if (language.id() != "java") continue;
    EXPECT_TRUE(language.compiled());
    EXPECT_EQ(language.least_limits().memory_bytes(), uint64_t{512} << 20);
    EXPECT_EQ(language.least_compile_limits().memory_bytes(),
              uint64_t{512} << 20);
    EXPECT_FALSE(language.least_limits().has_wall_time());
  }
  EXPECT_EQ(compiled, 3);
}

// Languages that the machine lacks, or has only in somebody's home.
class Toolchains : public OwnDaemonTest {};

TEST_F(Toolchains, WhatIsMissingIsReportedWithItsPackage) {
  const std::string policy = MakeTestDirectory();
  std::filesystem::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy,
                        std::filesystem::copy_options::recursive |
                            std::filesystem::copy_options::overwrite_existing);
  const std::string home = MakeTestDirectory();
  const std::string runtime = home + "/runtime";
  std::ofstream(runtime) << "#!/bin/sh\necho own\n";
  std::filesystem::permissions(runtime, std::filesystem::perms(0755));
  std::ofstream(policy + "/languages/absent.json")
      << R"({"name": "Absent", "source_file": "m.x", "package": "absent-lang",
            "run": ["/usr/bin/absent", "${source}"],
            "version": ["/usr/bin/absent"]})";
  std::ofstream(policy + "/languages/homely.json")
      << R"({"name": "Homely", "source_file": "m.x", "package": "homely",
            "run": [")"
      << runtime << R"(", "${source}"],
            "version": [")"
      << runtime << R"("]})";
  std::ofstream(policy + "/languages/unprepared.json")
      << R"({"name": "Unprepared", "source_file": "m.x",
            "run": ["/bin/sh", "${source}"], "version": ["/bin/sh", "-c", "echo 1"],
            "prepare": {"commands": [["/bin/false"]], "artifacts": ["x"]}})";
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.extra_arguments = {"--policy-dir", policy}}));
  for (const auto& [id, reason] :
       {std::pair("absent",
                  "there is no /usr/bin/absent (Debian package absent-lang)"),
        std::pair("homely", "jails have only what is below /usr/"),
        std::pair("unprepared", "could not be prepared: /bin/false ended")}) {
    const RunResult result = client().Run(Program(id, "x"));
    EXPECT_THAT(result, StatusIs(grpc::StatusCode::FAILED_PRECONDITION));
    EXPECT_THAT(result.status.error_message(), HasSubstr(reason));
    EXPECT_EQ(DetailsOf(result.status).reason, "LANGUAGE_UNAVAILABLE");
    v1::GetServerInfoResponse info;
    ASSERT_THAT(client().Info(&info), IsOk());
    for (const v1::LanguageInfo& language : info.languages()) {
      if (language.id() != id) continue;
      EXPECT_FALSE(language.available());
      EXPECT_THAT(language.unavailable_reason(), HasSubstr(reason));
    }
  }
  EXPECT_THAT(client().Run(Program("python", "print(1)")),
              OutcomeIs(v1::OUTCOME_OK));
  ASSERT_NO_FATAL_FAILURE(StopDaemon());
  std::filesystem::remove_all(policy);
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace sandglass::testing
