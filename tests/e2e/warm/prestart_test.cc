// Programs in interpreters that were started ahead of them: they can't tell,
// limits hold, and nothing of one is in another.

#include "tests/support/calls/prestart.h"

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/programs.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

class Prestart : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_NO_FATAL_FAILURE(WarmUp(client()));
  }
};

// ---- the program can't tell ----

// Without what differs between two runs of the same interpreter: identity
// hashes, process ids in warnings, addresses in stacks of native code, and
// whether node heard the last words of a worker by their own way or with its
// end.
std::string Steady(const std::string& text) {
  static const std::regex varying(
      "@[0-9a-f]{5,8}\\b|\\(node:[0-9]+\\)|\\b0x[0-9a-f]{6,12}\\b");
  static const std::regex ending(
      "\n    at (\\[kOnExit\\]|Worker\\.<computed>\\.onexit) [^\n]*");
  return std::regex_replace(std::regex_replace(text, ending, ""), varying, "@");
}

class PrestartConformance : public Prestart,
                            public ::testing::WithParamInterface<std::string> {
};

TEST_P(PrestartConformance, ProgramsDoAsInAFreshInterpreter) {
  const ProgramFolder folder(absl::StrCat("prestart/", GetParam()), GetParam());
  ASSERT_GE(folder.cases().size(), GetParam() == "java" ? 40U : 75U);
  for (const std::string& name : folder.cases()) {
    SCOPED_TRACE(name);
    v1::RunCodeRequest request = folder.Request(name);
    request.add_args("argument");
    request.set_stdin("line one\nzweite Zeile ü\n42\n");
    const RunResult fresh = Run(Fresh(request));
    ASSERT_THAT(fresh, IsOk());
    EXPECT_EQ(
        KindOf(fresh),
        fresh.response.outcome() == v1::OUTCOME_COMPILE_ERROR ? "" : "exec");
    const RunResult waited = RunPrestarted(client(), request);
    ASSERT_THAT(waited, IsOk());
    EXPECT_EQ(waited.response.outcome(), fresh.response.outcome());
    EXPECT_EQ(waited.response.exit_code(), fresh.response.exit_code());
    EXPECT_EQ(waited.response.signal().number(),
              fresh.response.signal().number());
    EXPECT_EQ(waited.response.evidence().rule(),
              fresh.response.evidence().rule());
    EXPECT_EQ(Steady(waited.response.stdout().data()),
              Steady(fresh.response.stdout().data()));
    EXPECT_EQ(Steady(waited.response.stderr().data()),
              Steady(fresh.response.stderr().data()));
    EXPECT_EQ(waited.response.compile().stderr().data(),
              fresh.response.compile().stderr().data());
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, PrestartConformance,
                         ::testing::Values("javascript", "java"),
                         [](const auto& each) { return each.param; });

TEST_F(Prestart, ArgumentsEnvironmentFilesAndInputArrive) {
  v1::RunCodeRequest request = Node(
      "const fs = require('fs');\n"
      "console.log(process.env.GREETING, process.argv.slice(2), "
      "process.env.LATE);\n"
      "console.log(fs.readFileSync('data/in.txt').length, "
      "fs.readFileSync(0).length);\n"
      "console.log(`${require('child_process').execFileSync('./tool')}`);\n"
      "fs.writeFileSync('out.txt', 'made');\n");
  (*request.mutable_env())["GREETING"] = "hello=you ü";
  for (const char* arg : {"", "a b", "--wait"}) request.add_args(arg);
  // More than a pipe holds, behind a job that is more than that, too.
  request.add_args(std::string(100'000, 'y'));
  request.set_stdin(std::string(1'000'000, 'x'));
  v1::InputFile* data = request.add_files();
  data->set_path("data/in.txt");
  data->set_content(std::string(300'000, 'x'));
  v1::InputFile* tool = request.add_files();
  tool->set_path("tool");
  tool->set_content("#!/bin/sh\necho $GREETING\n");
  tool->set_executable(true);
  request.add_fetch("out.txt");
  const RunResult result = RunPrestarted(client(), request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(KindOf(result), kNode);
  EXPECT_THAT(result.response.stdout().data(),
              HasSubstr("hello=you ü [\n  '',\n  'a b',\n  '--wait',\n  'yyy"));
  EXPECT_THAT(result.response.stdout().data(),
              HasSubstr("undefined\n300000 1000000\nhello=you ü\n"));
  ASSERT_EQ(result.response.files_size(), 1);
  EXPECT_EQ(result.response.files(0).content(), "made");
}

TEST_F(Prestart, WithoutInputStandardInputIsAtItsEnd) {
  EXPECT_EQ(
      RunPrestarted(client(),
                    Node("console.log(require('fs').readFileSync(0).length)"))
          .response.stdout()
          .data(),
      "0\n");
  EXPECT_EQ(RunPrestarted(client(),
                          Java("class A { public static void main(String[] a) "
                               "throws Exception { "
                               "System.out.println(System.in.read()); } }"))
                .response.stdout()
                .data(),
            "-1\n");
}

TEST_F(Prestart, WhatActsAtAStartGetsAFreshInterpreter) {
  v1::RunCodeRequest request = Node("console.log(process.execArgv.length)");
  (*request.mutable_env())["NODE_OPTIONS"] = "--no-warnings";
  EXPECT_EQ(KindOf(Run(request)), "exec");
  // A JVM reads its environment once.
  request = Java(
      "class A { public static void main(String[] a) { "
      "System.out.println(System.getenv(\"GREETING\")); } }");
  (*request.mutable_env())["GREETING"] = "hello";
  const RunResult result = Run(request);
  EXPECT_EQ(KindOf(result), "exec");
  EXPECT_EQ(result.response.stdout().data(), "hello\n");
}

// ---- limits hold ----

TEST_F(Prestart, LimitsEndAWaitingInterpretersProgram) {
  const auto run = [](v1::RunCodeRequest request, auto set) {
    set(*request.mutable_limits());
    return RunPrestarted(client(), request).response;
  };
  const auto nothing = [](v1::Limits&) {};
  const auto a_second = [](v1::Limits& limits) {
    limits.mutable_wall_time()->set_seconds(1);
  };
  const auto a_cpu_second = [](v1::Limits& limits) {
    limits.mutable_cpu_time()->set_seconds(1);
  };
  EXPECT_EQ(run(Node("for (;;) {}"), a_second).outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(run(Node("setInterval(() => {}, 1000)"), a_second).outcome(),
            v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(run(Node("for (;;) {}"), a_cpu_second).outcome(),
            v1::OUTCOME_CPU_LIMIT);
  EXPECT_EQ(
      run(Node("for (;;) console.log('x'.repeat(65536))"), nothing).outcome(),
      v1::OUTCOME_OUTPUT_LIMIT);
  EXPECT_EQ(run(Node("const { spawn } = require('child_process');\n"
                     "for (let i = 0; i < 500; i++)\n"
                     "  spawn('/bin/sleep', ['9']).on('error', () => {});\n"
                     "process.exitCode = 1; setTimeout(process.exit, 500);"),
                nothing)
                .outcome(),
            v1::OUTCOME_PIDS_LIMIT);
  v1::RunCodeResponse memory =
      run(Node("const all = []; for (;;) all.push({ a: [1, 2, 3] })"), nothing);
  EXPECT_EQ(memory.outcome(), v1::OUTCOME_MEMORY_LIMIT);
  EXPECT_EQ(memory.evidence().rule(), "runtime-memory");
  memory =
      run(Node("const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))"),
          nothing);
  EXPECT_EQ(memory.outcome(), v1::OUTCOME_MEMORY_LIMIT);
  const auto main = [](const std::string& body) {
    return Java(absl::StrCat(
        "import java.util.*; public class Main { public static void "
        "main(String[] a) throws Exception { ",
        body, " } }"));
  };
  EXPECT_EQ(run(main("while (true);"), a_second).outcome(),
            v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(run(main("while (true);"), a_cpu_second).outcome(),
            v1::OUTCOME_CPU_LIMIT);
  memory = run(main("List<int[]> all = new ArrayList<>(); "
                    "while (true) all.add(new int[1000000]);"),
               nothing);
  EXPECT_EQ(memory.outcome(), v1::OUTCOME_MEMORY_LIMIT);
  EXPECT_EQ(memory.evidence().rule(), "runtime-memory");
}

TEST_F(Prestart, ResourceLimitsAreTheProgramsOwn) {
  v1::RunCodeRequest request = Node(
      "process.stdout.write(require('fs').readFileSync('/proc/self/limits'))");
  request.mutable_limits()->set_open_files(200);
  request.mutable_limits()->set_file_size_bytes(12345);
  const RunResult result = RunPrestarted(client(), request);
  const std::string limits = result.response.stdout().data();
  EXPECT_TRUE(
      std::regex_search(limits, std::regex("Max open files +200 +200 ")))
      << limits;
  EXPECT_TRUE(
      std::regex_search(limits, std::regex("Max file size +12345 +12345 ")))
      << limits;
  EXPECT_TRUE(std::regex_search(
      limits, std::regex("Max cpu time +[0-9]+ +[0-9]+ +seconds")))
      << limits;
}

TEST_F(Prestart, UsageLeavesOutWhatCameBeforeTheProgram) {
  // A node that starts takes more.
  const v1::Usage fresh = Run(Fresh(Node("1"))).response.usage();
  const v1::Usage usage = RunPrestarted(client(), Node("1")).response.usage();
  EXPECT_LT(
      ToAbsl(usage.cpu_user_time()) + ToAbsl(usage.cpu_system_time()),
      (ToAbsl(fresh.cpu_user_time()) + ToAbsl(fresh.cpu_system_time())) * 0.7);
}

// ---- the end ----

TEST_F(Prestart, AReportedEndIsNotWaitedFor) {
  // Of its end only what comes before the word counts. A listener keeps node
  // from saying it.
  const auto median = [](const std::string& code) {
    std::vector<absl::Duration> used;
    for (int i = 0; i < 5; ++i) {
      const RunResult result = RunPrestarted(client(), Node(code));
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
      used.push_back(ToAbsl(result.response.usage().cpu_user_time()) +
                     ToAbsl(result.response.usage().cpu_system_time()));
    }
    std::sort(used.begin(), used.end());
    return used[used.size() / 2];
  };
  const absl::Duration waited = median("process.on('exit', () => {})");
  EXPECT_LT(median("1"), waited);
  EXPECT_LT(median("process.exit()"), waited);
}

TEST_F(Prestart, WhatIsLeftRunningAtAToldEndIsKilledAndCounted) {
  const std::string leave =
      "const { spawn } = require('child_process');\n"
      "for (let i = 0; i < 2; i++)\n"
      "  spawn('/bin/sleep', ['99'], { detached: true, stdio: 'inherit' })\n"
      "    .unref();\n"
      "console.log('left');\n";
  for (const char* end : {"process.exitCode = 3;", "process.exit(3);"}) {
    const v1::RunCodeResponse response =
        RunPrestarted(client(), Node(absl::StrCat(leave, end))).response;
    EXPECT_EQ(response.exit_code(), 3) << end;
    EXPECT_EQ(response.evidence().leftover_processes(), 2U) << end;
    EXPECT_EQ(response.stdout().data(), "left\n") << end;
  }
}

TEST_F(Prestart, WhatAThreadOrAChildWritesBeforeTheEndIsThere) {
  const v1::RunCodeResponse response =
      RunPrestarted(
          client(),
          Node("const { Worker } = require('worker_threads');\n"
               "const text = 'x'.repeat(300000);\n"
               "new Worker('console.log(`${require(\"worker_threads\")"
               ".workerData}`)', { eval: true, workerData: text });\n"
               "require('child_process').spawn('/bin/sh',\n"
               "  ['-c', 'sleep 0.1; echo child >&2'], { stdio: 'inherit' "
               "});\n"))
          .response;
  EXPECT_EQ(response.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(response.stdout().data(), std::string(300'000, 'x') + "\n");
  EXPECT_EQ(response.stderr().data(), "child\n");
}

// ---- nothing is shared, nothing is ours ----

TEST_F(Prestart, RunsLeaveNothingForOthers) {
  const std::string code =
      "const fs = require('fs');\n"
      "const places = ['/workspace', '/tmp', '/dev/shm', process.env.HOME];\n"
      "console.log(places.flatMap((place) => fs.readdirSync(place)),\n"
      "  fs.readdirSync('/proc').filter((name) => name > 0).length,\n"
      "  globalThis.mark, process.env.MARK, Array.prototype.mark);\n"
      "console.error(Math.random(), require('crypto').randomUUID());\n"
      "globalThis.mark = process.env.MARK = Array.prototype.mark = 1;\n"
      "for (const place of places) fs.writeFileSync(place + '/mark', '1');\n"
      "require('child_process').spawn('/bin/sleep', ['99'],\n"
      "  { detached: true, stdio: 'ignore' }).unref();\n";
  std::set<std::string> outputs;
  std::set<std::string> numbers;
  constexpr size_t kRuns = 20;
  for (size_t i = 0; i < kRuns; ++i) {
    const RunResult result = RunPrestarted(client(), Node(code));
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    outputs.insert(result.response.stdout().data());
    for (const absl::string_view word :
         absl::StrSplit(result.response.stderr().data(), ' ')) {
      numbers.insert(std::string(word));
    }
  }
  EXPECT_EQ(outputs, std::set<std::string>(
                         {"[ 'main.js' ] 1 undefined undefined undefined\n"}));
  EXPECT_EQ(numbers.size(), 2 * kRuns);
}

TEST_F(Prestart, AProgramThatForgesTheEndMarkerGainsNothing) {
  const RunResult result = RunPrestarted(
      client(), Node("require('fs').writeSync(1, 'sandglass: waiting\\n');\n"
                     "console.log(require('fs').readFileSync(0).length);"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "sandglass: waiting\n0\n");
}

}  // namespace
}  // namespace sandglass::testing
