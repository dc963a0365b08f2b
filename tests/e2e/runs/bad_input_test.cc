// Programs that attack compilers, runtimes or the machine by way of them. What
// each must come to is in tests/conformance/bad/bad.md. The fixture sees to it
// that the daemon lives on and nothing is left running.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/programs.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Bombs tick as long as they may.
constexpr int kCompileSeconds = 6;
constexpr int kRunSeconds = 4;
constexpr int kInFlight = 2;

using Outcomes = std::vector<v1::Outcome>;

struct BadProgram {
  const char* language;
  const char* program;
  v1::Phase phase;  // that decides
  Outcomes outcomes;
  std::optional<std::string> out;  // on the program's stdout
};

constexpr v1::Outcome kOk = v1::OUTCOME_OK;
constexpr v1::Outcome kNonzero = v1::OUTCOME_NONZERO_EXIT;
constexpr v1::Outcome kSignaled = v1::OUTCOME_SIGNALED;
constexpr v1::Outcome kRefused = v1::OUTCOME_COMPILE_ERROR;
constexpr v1::Outcome kMemory = v1::OUTCOME_MEMORY_LIMIT;
constexpr v1::Outcome kTime = v1::OUTCOME_TIMEOUT;
constexpr v1::Outcome kCpu = v1::OUTCOME_CPU_LIMIT;
constexpr v1::Outcome kPids = v1::OUTCOME_PIDS_LIMIT;

std::vector<BadProgram> BadPrograms() {
  const auto compile = v1::PHASE_COMPILE;
  const auto run = v1::PHASE_RUN;
  return {
      {"cpp", "dev_random", compile, {kMemory, kTime, kRefused}},
      {"cpp", "dev_zero", compile, {kMemory, kTime, kRefused}},
      {"cpp", "etc_shadow", compile, {kRefused}},
      {"cpp", "incbin_shadow", compile, {kRefused}},
      {"cpp", "proc_environ", run, {kOk}},
      {"cpp", "self_include", compile, {kRefused}},
      {"cpp", "self_include_twice", compile, {kTime, kCpu, kMemory}},
      {"cpp", "template_bomb", compile, {kTime, kCpu, kMemory}},
      {"cpp", "constexpr_bomb", compile, {kTime, kCpu, kMemory}},
      {"cpp", "constexpr_too_long", compile, {kRefused}},
      {"cpp",
       "huge_object",
       compile,
       {v1::OUTCOME_FILE_SIZE_LIMIT, v1::OUTCOME_DISK_LIMIT, kRefused}},
      {"cpp", "macro_bomb", compile, {kMemory, kTime}},
      {"cpp", "error_flood", compile, {v1::OUTCOME_OUTPUT_LIMIT}},
      {"java", "exit_in_static", run, {kNonzero}, "static\n"},
      {"java", "threads_left", run, {kTime}, "main returns\n"},
      {"java", "stack_overflow", run, {kNonzero}},
      {"java", "huge_constant", compile, {kMemory, kRefused}},
      {"go", "cgo_cflags", compile, {kRefused}},
      {"go", "cgo_ldflags", compile, {kRefused}},
      {"go", "embed_outside", compile, {kRefused}},
      {"go", "init_cycle", compile, {kRefused}},
      {"go", "init_forever", run, {kTime, kCpu}, ""},
      {"go", "missing_module", compile, {kRefused}},
      {"go", "missing_module_mod", compile, {kRefused}},
      {"go", "cgo_plain", run, {kOk}, "42\n"},
      {"go", "go_generate", run, {kOk}, "not generated\n"},
      {"javascript", "native_addon", run, {kNonzero}, "written\n"},
      {"javascript", "worker_bomb", run, {kPids, kMemory, kSignaled, kTime}},
      {"javascript", "exit_in_write", run, {kOk}},
      {"javascript", "unhandled_rejection", run, {kNonzero}, "exit 1\n"},
      {"javascript", "microtask_loop", run, {kTime, kCpu}, ""},
      {"ruby", "fork_tree", run, {kCpu, kTime, kPids, kMemory}},
      {"ruby", "at_exit_hang", run, {kTime}},
      {"ruby", "exit_bang", run, {kNonzero}},
      {"perl", "fork_bomb", run, {kCpu, kTime}},
      {"perl", "fork_memory", run, {kPids, kMemory}},
      {"bash", "fork_bomb", run, {kOk, kNonzero, kPids, kTime}},
      {"bash", "fork_bomb_leaving", run, {kOk}, "leaving\n"},
      {"python", "exec_self", run, {kCpu, kTime}},
      {"python", "recursion_crash", run, {kSignaled}},
      {"python", "recursion_memory", run, {kMemory}},
  };
}

v1::RunCodeRequest RequestOf(const BadProgram& bad) {
  const ProgramFolder folder(absl::StrCat("bad/", bad.language), bad.language);
  v1::RunCodeRequest request = folder.Request(bad.program);
  request.mutable_limits()->mutable_wall_time()->set_seconds(kRunSeconds);
  const bool compiled = bad.language == std::string("cpp") ||
                        bad.language == std::string("java") ||
                        bad.language == std::string("go");
  if (compiled) {
    request.mutable_compile_limits()->mutable_wall_time()->set_seconds(
        kCompileSeconds);
  }
  return request;
}

void Check(const BadProgram& bad, const RunResult& result) {
  SCOPED_TRACE(
      absl::StrCat(bad.language, " ", bad.program, ": ", Describe(result)));
  ASSERT_THAT(result, IsOk());
  const v1::RunCodeResponse& response = result.response;
  EXPECT_THAT(bad.outcomes, Contains(response.outcome()));
  EXPECT_EQ(response.evidence().phase(), bad.phase);
  if (bad.out) {
    EXPECT_EQ(response.stdout().data(), *bad.out);
  }
  if (bad.phase == v1::PHASE_COMPILE) {
    EXPECT_EQ(response.compile().outcome(), response.outcome());
    EXPECT_FALSE(response.has_exit_code());
    EXPECT_EQ(response.usage().wall_time().nanos(), 0);
  }
  // Of the host's /etc/shadow no jail has a line.
  for (const std::string& text :
       {response.stdout().data(), response.stderr().data(),
        response.compile().stderr().data()}) {
    EXPECT_THAT(text, Not(HasSubstr("root:")));
  }
}

class BadInput : public DaemonTest,
                 public ::testing::WithParamInterface<std::string> {};

TEST_P(BadInput, EndsWithTheExpectedOutcome) {
  std::vector<BadProgram> programs;
  std::vector<v1::RunCodeRequest> requests;
  size_t index = 0;
  for (const BadProgram& bad : BadPrograms()) {
    if (bad.language != GetParam() || !IsOfThisTier(index++, 5)) continue;
    programs.push_back(bad);
    requests.push_back(RequestOf(bad));
  }
  // Beside a neighbour that must not be harmed.
  v1::RunCodeRequest neighbour;
  neighbour.set_language("bash");
  neighbour.set_code("sleep 2; echo unharmed");
  requests.push_back(neighbour);
  const std::vector<RunResult> results =
      client().RunAll(requests, kInFlight, absl::Seconds(60));
  for (size_t i = 0; i < programs.size(); ++i) Check(programs[i], results[i]);
  EXPECT_EQ(results.back().response.stdout().data(), "unharmed\n");
}

INSTANTIATE_TEST_SUITE_P(Programs, BadInput,
                         ::testing::ValuesIn(ShippedLanguages()),
                         [](const auto& suite) { return suite.param; });

// The list above and the folder name the same programs.
TEST(BadInputFolder, EveryProgramIsInTheList) {
  for (const std::string& language : ShippedLanguages()) {
    const ProgramFolder folder(absl::StrCat("bad/", language), language);
    for (const std::string& program : folder.cases()) {
      // Has a test of its own, below.
      if (program == "annotation_processor") continue;
      const auto listed = BadPrograms();
      EXPECT_TRUE(std::any_of(listed.begin(), listed.end(),
                              [&](const BadProgram& bad) {
                                return bad.language == language &&
                                       bad.program == program;
                              }))
          << language << " " << program;
    }
  }
}

class BadCompile : public DaemonTest {};

TEST_F(BadCompile, ProcessExitKeepsWhatWasWritten) {
  const ProgramFolder folder("bad/javascript", "javascript");
  const RunResult result = Run(folder.Request("exit_in_write"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().total_bytes(), 1'048'576u);
}

// A request may bring a compiled class that calls itself an annotation
// processor; plain javac would run it.
TEST_F(BadCompile, AnnotationProcessorsDoNotRun) {
  const ProgramFolder folder("bad/java", "java");
  v1::RunCodeRequest victim = folder.Request("annotation_processor");
  v1::RunCodeRequest maker;
  maker.set_language("java");
  for (auto& file : *victim.mutable_files()) {
    if (file.path() == "Loud.java") maker.set_code(file.content());
  }
  ASSERT_THAT(maker.code(), Not(IsEmpty()));
  maker.add_fetch("main.jar");
  const RunResult made = Run(maker);
  ASSERT_EQ(made.response.files_size(), 1) << Describe(made);

  auto& files = *victim.mutable_files();
  files.erase(std::remove_if(
                  files.begin(), files.end(),
                  [](const auto& file) { return file.path() == "Loud.java"; }),
              files.end());
  v1::InputFile& library = *victim.add_files();
  library.set_path("loud.jar");
  library.set_content(made.response.files(0).content());
  const RunResult result = Run(victim);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "no processor ran\n");
  EXPECT_EQ(result.response.compile().stderr().data(), "");
}

TEST_F(BadCompile, CompilersThatEatAllMemorySayWhichPhase) {
  v1::RunCodeRequest request;
  request.set_language("cpp");
  request.set_code("#include \"/dev/zero\"\nint main() {}\n");
  const RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
  const v1::Evidence& evidence = result.response.evidence();
  EXPECT_EQ(evidence.phase(), v1::PHASE_COMPILE);
  EXPECT_THAT(evidence.explanation(), HasSubstr("compile"));
  EXPECT_EQ(evidence.limit().configured(),
            result.response.compile().limits().memory_bytes());
}

TEST_F(BadCompile, LimitsOfThePhasesAreApart) {
  v1::RunCodeRequest request;
  request.set_language("cpp");
  request.set_code("int main() { for (;;) {} }\n");
  request.mutable_limits()->mutable_wall_time()->set_nanos(300'000'000);
  RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(result.response.evidence().phase(), v1::PHASE_RUN);
  EXPECT_EQ(result.response.compile().outcome(), v1::OUTCOME_OK);

  request.mutable_compile_limits()->mutable_wall_time()->set_nanos(20'000'000);
  result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(result.response.evidence().phase(), v1::PHASE_COMPILE);
  EXPECT_EQ(result.response.compile().limits().wall_time().nanos(), 20'000'000);

  request.mutable_compile_limits()->set_memory_bytes(uint64_t{1} << 40);
  EXPECT_THAT(Run(request), RefusesField("compile_limits.memory_bytes"));
  request.set_language("bash");
  EXPECT_THAT(Run(request), RefusesField("compile_limits"));
}

}  // namespace
}  // namespace sandglass::testing
