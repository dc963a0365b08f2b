// Programs in interpreters that waited for them: they can't tell, and nothing
// of one is in another.

#include "tests/support/calls/warm.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/warm/warm_languages.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tier.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(20);

v1::RunCodeRequest Request(const WarmLanguage& language, std::string code) {
  v1::RunCodeRequest request;
  request.set_language(language.id);
  request.set_code(std::move(code));
  return request;
}

// The same run in a fresh interpreter.
v1::RunCodeRequest Fresh(const WarmLanguage& language,
                         v1::RunCodeRequest request) {
  (*request.mutable_env())[language.start_env.first] =
      language.start_env.second;
  return request;
}

class Warm : public DaemonTest,
             public ::testing::WithParamInterface<WarmLanguage> {
 protected:
  // Until the zygote is there.
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_TRUE(WaitUntil(
        [] { return HadRunner(Run(Program(GetParam().print_ok))); }, kSettle));
  }
  static v1::RunCodeRequest Program(std::string code) {
    return Request(GetParam(), std::move(code));
  }
};

// Its interpreter says that it is done while it still lives, and what it left
// behind is then the only process as soon as it does not.
TEST_P(Warm, ProcessesLeftBehindAreNeverTakenForTheProgram) {
  const bool python = GetParam().id == "python";
  const std::string programs[] = {
      python ? "import subprocess\n"
               "subprocess.Popen(['sleep', '100'], start_new_session=True,\n"
               "                 stdout=-3, stderr=-3)"
             : "spawn('sleep', '100', pgroup: true, out: '/dev/null', "
               "err: '/dev/null')",
      python ? "import os, time\n"
               "if os.fork() == 0:\n    os.setsid()\n    time.sleep(100)"
             : "fork { Process.setsid; sleep 100 }"};
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int time = 0; time < 40; ++time) {
        const RunResult result = Run(Program(programs[caller % 2]));
        if (result.response.outcome() != v1::OUTCOME_OK ||
            result.response.evidence().leftover_processes() != 1) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// ---- the program can't tell ----

TEST_P(Warm, ProgramsDoAsInAFreshInterpreter) {
  std::vector<ConformanceProgram> all =
      ConformancePrograms(GetParam().id, GetParam().id, GetParam().extension);
  ASSERT_GT(all.size(), 100U);
  const auto cases = OfThisTier(std::move(all), 3);
  std::vector<v1::RunCodeRequest> requests;
  for (const ConformanceProgram& each : cases) {
    requests.push_back(Fresh(GetParam(), each.request));
    requests.push_back(each.request);
  }
  const std::vector<RunResult> results = client().RunAll(requests, 2);
  int refused = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].name);
    const RunResult& fresh = results[2 * i];
    const RunResult& warm = results[2 * i + 1];
    // The API takes no empty program, and UTF-8 alone; compare.py runs the
    // others.
    if (fresh.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
      EXPECT_EQ(warm.status.error_code(), fresh.status.error_code());
      ++refused;
      continue;
    }
    ASSERT_THAT(fresh, IsOk());
    ASSERT_THAT(warm, IsOk());
    EXPECT_FALSE(HadRunner(fresh));
    EXPECT_TRUE(HadRunner(warm));
    ExpectSame(fresh, warm);
  }
  EXPECT_LT(refused, 8);
}

TEST_P(Warm, WhatActsAtAnInterpretersStartGetsAFreshOne) {
  const RunResult result =
      Run(Fresh(GetParam(), Program(GetParam().print_start_env)));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_FALSE(HadRunner(result));
  EXPECT_EQ(result.response.timings().kind(), "exec");
  EXPECT_EQ(result.response.stdout().data(),
            absl::StrCat(GetParam().start_env.second, "\n"));
}

TEST_P(Warm, OrdinaryEnvironmentFilesAndArgumentsArrive) {
  v1::RunCodeRequest request = Program(GetParam().use_inputs);
  (*request.mutable_env())["GREETING"] = "hello you";
  request.add_args("a b");
  request.add_args("");
  request.set_stdin("typed");
  v1::InputFile* data = request.add_files();
  data->set_path("data/in.txt");
  // More than goes into one message.
  data->set_content(std::string(300'000, 'x'));
  v1::InputFile* tool = request.add_files();
  tool->set_path("tool");
  tool->set_content("#!/bin/sh\n");
  tool->set_executable(true);
  request.add_fetch("out.txt");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(HadRunner(result));
  EXPECT_EQ(result.response.timings().kind(),
            absl::StrCat(GetParam().id, "-lean"));
  EXPECT_EQ(
      result.response.stdout().data(),
      absl::StrCat("hello you|a b||/workspace\n", std::string(300'000, 'x'),
                   "\nexecutable\ntyped\n18\n"));
  ASSERT_EQ(result.response.files_size(), 1);
  EXPECT_EQ(result.response.files(0).content(), "made");
}

// ---- limits hold ----

TEST_P(Warm, LimitsEndAWarmProgram) {
  const auto outcome = [](const std::string& code, auto set) {
    v1::RunCodeRequest request = Program(code);
    set(*request.mutable_limits());
    const RunResult result = Run(request);
    EXPECT_TRUE(HadRunner(result));
    return result.response.outcome();
  };
  const auto nothing = [](v1::Limits&) {};
  const auto half_a_second = [](v1::Limits& limits) {
    limits.mutable_wall_time()->set_nanos(500'000'000);
  };
  const WarmLanguage& language = GetParam();
  EXPECT_EQ(outcome(language.spin, half_a_second), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(outcome(language.sleep, half_a_second), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(outcome(language.take_memory, nothing), v1::OUTCOME_MEMORY_LIMIT);
  // Ends by itself when it is refused one, however long the others take.
  EXPECT_EQ(outcome(language.take_processes, nothing), v1::OUTCOME_PIDS_LIMIT);
  EXPECT_EQ(outcome(language.flood, nothing), v1::OUTCOME_OUTPUT_LIMIT);
  EXPECT_EQ(outcome(language.spin,
                    [](v1::Limits& limits) {
                      limits.mutable_cpu_time()->set_nanos(300'000'000);
                    }),
            v1::OUTCOME_CPU_LIMIT);
  EXPECT_EQ(outcome(language.kill_itself, nothing), v1::OUTCOME_SIGNALED);
}

TEST_P(Warm, UsageLeavesOutWhatCameBeforeTheProgram) {
  for (int i = 0; i < 5; ++i) {
    const v1::Usage usage = Run(Program(GetParam().print_ok)).response.usage();
    EXPECT_LT(ToAbsl(usage.cpu_user_time()) + ToAbsl(usage.cpu_system_time()),
              absl::Milliseconds(50));
    EXPECT_LT(usage.peak_memory_bytes(), uint64_t{32} << 20);
  }
}

TEST_P(Warm, ChildrenThatAreLeftBehindAreKilledAndCounted) {
  const RunResult result = Run(Program(GetParam().leave_three_children));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "done\n");
  EXPECT_EQ(result.response.evidence().leftover_processes(), 3U);
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

// ---- a program that tampers with its runner ----

TEST_P(Warm, WhoeverTampersWithTheReportEndsOnlyItsOwnRun) {
  for (const std::string& code : GetParam().tamper) {
    SCOPED_TRACE(code);
    const RunResult result = Run(Program(code));
    EXPECT_TRUE(HadRunner(result));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
    EXPECT_EQ(result.response.exit_code(), 5);
    EXPECT_LT(result.elapsed, absl::Seconds(15));
  }
  EXPECT_THAT(Run(Program(GetParam().print_ok)), OutcomeIs(v1::OUTCOME_OK));
}

// ---- nothing is shared ----

TEST_P(Warm, NoTwoRunsDrawTheSameNumbers) {
  constexpr size_t kRuns = 50;
  const std::vector<v1::RunCodeRequest> requests(kRuns,
                                                 Program(GetParam().draw));
  std::vector<std::set<std::string>> seen(GetParam().drawn);
  for (const RunResult& result : client().RunAll(requests, 4)) {
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_TRUE(HadRunner(result));
    const std::vector<std::string> lines =
        absl::StrSplit(result.response.stdout().data(), '\n');
    ASSERT_EQ(lines.size(), seen.size() + 1);
    for (size_t i = 0; i < seen.size(); ++i) seen[i].insert(lines[i]);
  }
  for (const std::set<std::string>& values : seen) {
    EXPECT_EQ(values.size(), kRuns) << *values.begin();
  }
}

TEST_P(Warm, RunsLeaveNothingForOthers) {
  std::set<std::string> outputs;
  const std::vector<v1::RunCodeRequest> requests(
      20, Program(GetParam().look_and_leave));
  for (const RunResult& result : client().RunAll(requests, 4)) {
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    outputs.insert(result.response.stdout().data());
  }
  EXPECT_EQ(outputs, std::set<std::string>({absl::StrCat(
                         "main", GetParam().extension, "\n2\nno mark\n0\n")}));
}

TEST_P(Warm, ARunnerReachesNeitherItsZygoteNorTheYard) {
  const RunResult result = Run(Program(GetParam().reach_out));
  // Init's directory is not even listed, and nothing in /proc can be written.
  EXPECT_EQ(result.response.stdout().data(), GetParam().reached);
}

INSTANTIATE_TEST_SUITE_P(Languages, Warm, ::testing::ValuesIn(WarmLanguages()),
                         [](const auto& each) { return each.param.id; });

// ---- faults ----

class WarmFaults : public OwnDaemonTest,
                   public ::testing::WithParamInterface<WarmLanguage> {
 protected:
  static v1::RunCodeRequest Program(std::string code) {
    return Request(GetParam(), std::move(code));
  }
  static v1::RunCodeRequest PrintOk() { return Program(GetParam().print_ok); }
  // Those of this language; a child that was born just now has its zygote's
  // title still.
  std::vector<Process> Zygotes() {
    std::vector<Process> found = Named("sandglass-zygote");
    std::erase_if(found, [](const Process& process) {
      return NameOf(process.pid) != GetParam().process_name;
    });
    return found;
  }
  std::vector<Process> Named(const std::string& name) {
    std::vector<Process> found;
    for (const Process& process : daemon().Processes()) {
      if (absl::StrContains(CommandOf(process.pid), name) ||
          NameOf(process.pid) == name) {
        found.push_back(process);
      }
    }
    return found;
  }
  bool AwaitZygote() {
    return WaitUntil([&] { return HadRunner(client().Run(PrintOk())); },
                     kSettle);
  }
};

TEST_P(WarmFaults, AZygoteThatIsKilledIsReplacedAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_TRUE(AwaitZygote());
  for (int round = 0; round < 3; ++round) {
    for (const Process& zygote : Zygotes()) {
      ASSERT_TRUE(Kill(zygote, SIGKILL));
    }
    const std::vector<v1::RunCodeRequest> requests(20, PrintOk());
    for (const RunResult& result : client().RunAll(requests, 4)) {
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    }
    ASSERT_TRUE(AwaitZygote());
  }
  StopDaemon();
}

TEST_P(WarmFaults, AZygoteThatHangsIsKilledAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_TRUE(AwaitZygote());
  // A child that was born just now still has its name.
  std::vector<Process> before;
  ASSERT_TRUE(WaitUntil(
      [&] {
        before = Zygotes();
        return before.size() == 1;
      },
      kSettle))
      << Describe(before);
  ASSERT_TRUE(Kill(before.front(), SIGSTOP));
  // More than wait already.
  const std::vector<v1::RunCodeRequest> requests(20, PrintOk());
  for (const RunResult& result : client().RunAll(requests, 4)) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_LT(result.elapsed, absl::Seconds(30));
  }
  ASSERT_TRUE(AwaitZygote());
  EXPECT_TRUE(WaitUntil(
      [&] {
        const std::vector<Process> now = Zygotes();
        return now.size() == 1 && now.front() != before.front();
      },
      kSettle));
  StopDaemon();
}

TEST_P(WarmFaults, AZygoteIsReplacedAfterItsRunnersAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"pool": {"floor": 2, "zygote_runs": 5}})"}));
  ASSERT_TRUE(AwaitZygote());
  std::set<pid_t> zygotes;
  // Siblings have their hash seed in common, others not.
  std::set<std::string> hashes;
  // Another takes a moment to start, and programs don't wait for it.
  const auto enough = [&] { return zygotes.size() >= 3 && hashes.size() >= 3; };
  for (int i = 0; i < 40 || (!enough() && i < 2000); ++i) {
    const RunResult result = client().Run(Program(GetParam().print_hash));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    if (HadRunner(result)) hashes.insert(result.response.stdout().data());
    for (const Process& zygote : Zygotes()) {
      zygotes.insert(zygote.pid);
    }
  }
  EXPECT_GE(zygotes.size(), 3U);
  EXPECT_GE(hashes.size(), 3U);
  // Those that were replaced end.
  EXPECT_TRUE(WaitUntil([&] { return Zygotes().size() <= 2; }, kSettle));
  StopDaemon();
}

TEST_P(WarmFaults, APoolFloorOfZeroHasNoZygote) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({"pool": {"floor": 0}})"}));
  const RunResult result = client().Run(PrintOk());
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_FALSE(HadRunner(result));
  EXPECT_EQ(result.response.timings().kind(), "exec");
  EXPECT_TRUE(Zygotes().empty());
  StopDaemon();
}

TEST_P(WarmFaults, ARunnerThatDiedWaitingIsNotGivenOut) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_TRUE(AwaitZygote());
  for (int round = 0; round < 3; ++round) {
    for (const Process& runner : Named("sandglass-idle")) {
      (void)Kill(runner, SIGKILL);
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(client().Run(PrintOk()), OutcomeIs(v1::OUTCOME_OK));
    }
  }
  StopDaemon();
}

TEST_P(WarmFaults, TwoHundredRunsAtOnceOnAnEmptyPoolAreAnswered) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"pool": {"floor": 1, "ceiling": 2}})"}));
  const std::vector<v1::RunCodeRequest> requests(200, PrintOk());
  for (const RunResult& result : client().RunAll(requests, 64)) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().data(), "ok\n");
  }
  StopDaemon();
}

TEST_P(WarmFaults, ADaemonThatStopsWhileItRefillsLeavesNothing) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(
        StartDaemon({.config = R"({"pool": {"floor": 16, "ceiling": 16}})"}));
    (void)client().Run(PrintOk());
    StopDaemon();
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, WarmFaults,
                         ::testing::ValuesIn(WarmLanguages()),
                         [](const auto& each) { return each.param.id; });

}  // namespace
}  // namespace sandglass::testing
