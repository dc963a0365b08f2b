// Every shipped language must do the same things. The programs, and what each
// has to do, are in tests/conformance; a language that has no folder there
// fails.

#include <algorithm>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/programs.h"
#include "tests/support/slowdown.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int kInFlight = 2;
constexpr absl::Duration kDeadline = absl::Seconds(100);

using Fill = std::function<void(v1::RunCodeRequest&)>;
using Check = std::function<void(const RunResult&)>;

struct Case {
  const char* program;
  Fill fill;
  Check check;
};

void Nothing(v1::RunCodeRequest&) {}

void AddFile(v1::RunCodeRequest& request, const std::string& path,
             const std::string& content) {
  v1::InputFile& file = *request.add_files();
  file.set_path(path);
  file.set_content(content);
}

Fill WallTime(int seconds) {
  return [seconds](v1::RunCodeRequest& request) {
    request.mutable_limits()->mutable_wall_time()->set_seconds(seconds);
  };
}

// OK, exactly this on stdout and nothing on stderr.
Check Prints(std::string text) {
  return [text = std::move(text)](const RunResult& result) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.exit_code(), 0);
    EXPECT_EQ(result.response.stdout().data(), text);
    EXPECT_EQ(result.response.stderr().data(), "");
    for (const v1::LimitReading& touched :
         result.response.evidence().limits_touched()) {
      // On a slow machine a runtime's threads need more than their share.
      EXPECT_EQ(touched.kind(), v1::LIMIT_KIND_CPU_SHARE);
    }
  };
}

void CheckSyntaxError(const RunResult& result) {
  const v1::RunCodeResponse& response = result.response;
  const bool compiled = response.has_compile();
  EXPECT_THAT(result, OutcomeIs(compiled ? v1::OUTCOME_COMPILE_ERROR
                                         : v1::OUTCOME_NONZERO_EXIT));
  const std::string& words =
      compiled ? response.compile().stderr().data() : response.stderr().data();
  EXPECT_TRUE(std::regex_search(words, std::regex("(line |:)3\\b"))) << words;
  EXPECT_THAT(words, Not(HasSubstr("/var/cache/sandglass")));
  if (!compiled) return;
  EXPECT_THAT(words, Not(HasSubstr("/workspace")));
  EXPECT_EQ(response.stdout().data(), "");
  EXPECT_EQ(response.stderr().data(), "");
  EXPECT_FALSE(response.has_exit_code());
  EXPECT_EQ(response.compile().outcome(), v1::OUTCOME_COMPILE_ERROR);
  EXPECT_GT(response.compile().exit_code(), 0);
  EXPECT_EQ(response.evidence().phase(), v1::PHASE_COMPILE);
}

void CheckUncaught(const RunResult& result) {
  EXPECT_THAT(result, AnyOf(OutcomeIs(v1::OUTCOME_NONZERO_EXIT),
                            OutcomeIs(v1::OUTCOME_SIGNALED)));
  EXPECT_EQ(result.response.stdout().data(), "");
  EXPECT_THAT(result.response.stderr().data(), HasSubstr("boom-42"));
  EXPECT_EQ(result.response.evidence().phase(), v1::PHASE_RUN);
}

void CheckBigOutput(const RunResult& result) {
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::Output& output = result.response.stdout();
  EXPECT_EQ(output.total_bytes(), 2'288'890u);
  EXPECT_TRUE(output.truncated());
  EXPECT_EQ(output.data().rfind("line 0\nline 1\n", 0), 0u);
  const std::string end = "line 199998\nline 199999\n";
  ASSERT_GE(output.data().size(), end.size());
  EXPECT_EQ(output.data().substr(output.data().size() - end.size()), end);
}

void CheckFiles(const RunResult& result) {
  Prints("ok\n")(result);
  ASSERT_EQ(result.response.files_size(), 1);
  EXPECT_EQ(result.response.files(0).path(), "out/result.txt");
  EXPECT_EQ(result.response.files(0).content(),
            ConformanceData("files.expected"));
}

Check StoppedBy(v1::Outcome outcome, v1::LimitKind kind) {
  return [=](const RunResult& result) {
    EXPECT_THAT(result, OutcomeIs(outcome));
    EXPECT_EQ(result.response.evidence().limit().kind(), kind);
    EXPECT_EQ(result.response.evidence().killed_by(), v1::KILLER_DAEMON);
    EXPECT_EQ(result.response.evidence().phase(), v1::PHASE_RUN);
  };
}

// The program failed by itself, at a limit that refuses and doesn't kill.
Check RefusedBy(v1::Outcome outcome, v1::LimitKind kind) {
  return [=](const RunResult& result) {
    EXPECT_THAT(result, OutcomeIs(outcome));
    EXPECT_EQ(result.response.evidence().limit().kind(), kind);
    EXPECT_EQ(result.response.evidence().phase(), v1::PHASE_RUN);
  };
}

// By the kernel, or by the runtime whose heap was kept within the limit.
void CheckMemory(const RunResult& result) {
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
  const v1::Evidence& evidence = result.response.evidence();
  EXPECT_EQ(evidence.limit().kind(), v1::LIMIT_KIND_MEMORY);
  EXPECT_EQ(evidence.limit().configured(),
            result.response.limits().memory_bytes());
  EXPECT_GT(evidence.limit().measured(), evidence.limit().configured() / 2);
  EXPECT_EQ(evidence.phase(), v1::PHASE_RUN);
  EXPECT_THAT(evidence.rule(), AnyOf("kernel-oom", "runtime-memory"));
  EXPECT_EQ(evidence.runtime_words().empty(), evidence.rule() == "kernel-oom");
}

// The runtime gave up by itself, which is told from other failures.
void CheckHeap(const RunResult& result) {
  CheckMemory(result);
  EXPECT_EQ(result.response.evidence().rule(), "runtime-memory");
  EXPECT_EQ(result.response.evidence().counters().oom_kills(), 0u);
}

void CheckGrandchildren(const RunResult& result) {
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "parent done\n");
  // The child, and the grandchild if it was there in time.
  EXPECT_GE(result.response.evidence().leftover_processes(), 1u);
}

void CheckSignal(const RunResult& result) {
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_SIGNALED));
  EXPECT_EQ(result.response.signal().name(), "SIGTERM");
}

// What every language can do, or says in not_applicable.txt that it can't.
std::vector<Case> CommonCases() {
  return {
      {"hello", Nothing, Prints("Hello, world!\n")},
      {"stdin",
       [](auto& request) { request.set_stdin(ConformanceData("stdin.txt")); },
       Prints(ConformanceData("stdin.expected"))},
      {"stdin", Nothing, Prints("lines: 0\n")},
      {"args",
       [](auto& request) {
         for (const char* arg : {"", "a b", "ü", "--flag", "*"}) {
           request.add_args(arg);
         }
       },
       Prints("[]\n[a b]\n[ü]\n[--flag]\n[*]\n")},
      {"exit_code", Nothing,
       [](const RunResult& result) {
         EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
         EXPECT_EQ(result.response.exit_code(), 7);
         EXPECT_EQ(result.response.stdout().data(), "leaving\n");
       }},
      {"stderr", Nothing,
       [](const RunResult& result) {
         EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
         EXPECT_EQ(result.response.stdout().data(), "to stdout\n");
         EXPECT_EQ(result.response.stderr().data(), "to stderr\n");
       }},
      {"unicode", Nothing, Prints("Grüße, 世界 🌍\n11\n")},
      {"syntax_error", Nothing, CheckSyntaxError},
      {"uncaught", Nothing, CheckUncaught},
      {"big_output", Nothing, CheckBigOutput},
      {"big_output",
       [](auto& request) {
         request.mutable_limits()->set_output_total_bytes(kMiB);
       },
       StoppedBy(v1::OUTCOME_OUTPUT_LIMIT, v1::LIMIT_KIND_OUTPUT_TOTAL_BYTES)},
      {"threads", Nothing, Prints("4000\n")},
      // Not "subprocess": Perl and Ruby try to fork again and again.
      {"threads",
       [](auto& request) { request.mutable_limits()->set_max_processes(1); },
       RefusedBy(v1::OUTCOME_PIDS_LIMIT, v1::LIMIT_KIND_PROCESSES)},
      {"subprocess", Nothing, Prints("got: child 42\n")},
      {"files",
       [](auto& request) {
         AddFile(request, "input.txt", ConformanceData("input.txt"));
         request.add_fetch("out/result.txt");
       },
       CheckFiles},
      {"files",
       [](auto& request) {
         AddFile(request, "input.txt", std::string(5 * kMiB, 'a'));
         request.mutable_limits()->set_workspace_bytes(8 * kMiB);
       },
       RefusedBy(v1::OUTCOME_DISK_LIMIT, v1::LIMIT_KIND_WORKSPACE_BYTES)},
      {"time_limit", WallTime(2),
       StoppedBy(v1::OUTCOME_TIMEOUT, v1::LIMIT_KIND_WALL_TIME)},
      {"time_limit",
       [](auto& request) {
         request.mutable_limits()->mutable_cpu_time()->set_seconds(1);
       },
       StoppedBy(v1::OUTCOME_CPU_LIMIT, v1::LIMIT_KIND_CPU_TIME)},
      {"sleep_limit", WallTime(2),
       StoppedBy(v1::OUTCOME_TIMEOUT, v1::LIMIT_KIND_WALL_TIME)},
      {"memory_limit", Nothing, CheckMemory},
      {"grandchildren", Nothing, CheckGrandchildren},
      {"signal", Nothing, CheckSignal},
      {"many_files", Nothing, Prints("sum: 42\n")},
  };
}

// Programs of single languages that don't just print what is expected.
std::vector<Case> SpecialCases() {
  return {
      {"memory_heap", Nothing, CheckHeap},
      {"many_files_esm", Nothing, Prints("sum: 42\n")},
      {"many_packages", Nothing, Prints("sum: 42\n")},
      {"embed",
       [](auto& request) {
         AddFile(request, "data.txt", ConformanceData("data.txt"));
       },
       [](const RunResult& result) {
         EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
       }},
      {"forgot_include", Nothing,
       [](const RunResult& result) {
         EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_COMPILE_ERROR));
         EXPECT_THAT(result.response.compile().stderr().data(),
                     HasSubstr("main.cpp:4"));
       }},
      {"segfault", Nothing,
       [](const RunResult& result) {
         EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_SIGNALED));
         EXPECT_EQ(result.response.signal().name(), "SIGSEGV");
         EXPECT_EQ(result.response.stdout().data(), "before\n");
       }},
      {"sigterm", Nothing,
       [](const RunResult& result) {
         EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
         EXPECT_EQ(result.response.exit_code(), 143);
         EXPECT_EQ(result.response.stdout().data(), "hook ran\n");
       }},
  };
}

// With every change a fifth of a language's programs runs, and another fifth of
// the next language's, so that each program runs in some languages.
void KeepThoseOfThisTier(std::vector<Case>& cases,
                         std::vector<v1::RunCodeRequest>& requests) {
  const std::vector<std::string> languages = ShippedLanguages();
  const auto language =
      std::find(languages.begin(), languages.end(), requests[0].language());
  const auto offset = static_cast<size_t>(language - languages.begin());
  std::vector<Case> kept_cases;
  std::vector<v1::RunCodeRequest> kept_requests;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (!IsOfThisTier(i + offset, 5)) continue;
    kept_cases.push_back(cases[i]);
    kept_requests.push_back(requests[i]);
  }
  cases = std::move(kept_cases);
  requests = std::move(kept_requests);
}

class Conformance : public DaemonTest,
                    public ::testing::WithParamInterface<std::string> {
 protected:
  static void SetUpTestSuite() { StartSuite({.slow_policy = true}); }
};

TEST_P(Conformance, EveryProgramDoesWhatItHasToDo) {
  const ProgramFolder folder(GetParam(), GetParam());
  ASSERT_TRUE(folder.exists())
      << "write tests/conformance/" << GetParam() << " (see the README there)";

  std::vector<Case> cases;
  std::set<std::string> known;
  for (const Case& common : CommonCases()) {
    known.insert(common.program);
    if (folder.NotApplicable(common.program)) continue;
    ASSERT_TRUE(folder.Has(common.program)) << common.program;
    cases.push_back(common);
  }
  for (const Case& special : SpecialCases()) {
    if (folder.Has(special.program)) cases.push_back(special);
    known.insert(special.program);
  }
  std::vector<v1::RunCodeRequest> requests;
  for (const Case& each : cases) {
    requests.push_back(folder.Request(each.program));
    each.fill(requests.back());
  }
  // The rest prints what is written beside it.
  for (const std::string& program : folder.cases()) {
    if (known.contains(program)) continue;
    const std::optional<std::string> expected = folder.Expected(program);
    ASSERT_TRUE(expected) << program;
    cases.push_back({program.c_str(), Nothing, Prints(*expected)});
    requests.push_back(folder.Request(program));
  }

  KeepThoseOfThisTier(cases, requests);

  const std::vector<RunResult> results =
      client().RunAll(requests, kInFlight, kDeadline * Slowdown());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(absl::StrCat(GetParam(), " ", cases[i].program, ": ",
                              Describe(results[i])));
    EXPECT_THAT(results[i], IsOk());
    cases[i].check(results[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, Conformance,
                         ::testing::ValuesIn(ShippedLanguages()),
                         [](const auto& suite) { return suite.param; });

}  // namespace
}  // namespace sandglass::testing
