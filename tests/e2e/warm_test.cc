// Programs in interpreters that waited for them: they can't tell, and nothing
// of one is in another.

#include "tests/support/warm.h"

#include <signal.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kSettle = absl::Seconds(20);

class Warm : public DaemonTest {
 protected:
  // Until the zygote is there.
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_TRUE(
        WaitUntil([] { return HadRunner(Run(Python("print(1)"))); }, kSettle));
  }
};

// ---- the program can't tell ----

TEST_F(Warm, ProgramsDoAsInAFreshInterpreter) {
  const std::vector<ConformanceProgram> cases = ConformancePrograms("python");
  ASSERT_GT(cases.size(), 150U);
  std::vector<v1::RunCodeRequest> requests;
  for (const ConformanceProgram& each : cases) {
    requests.push_back(Fresh(each.request));
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

TEST_F(Warm, WhatActsAtAnInterpretersStartGetsAFreshOne) {
  v1::RunCodeRequest request =
      Python("import os, sys\nprint(hash('a'), sys.flags.hash_randomization)");
  (*request.mutable_env())["PYTHONHASHSEED"] = "0";
  const RunResult first = Run(request);
  EXPECT_THAT(first, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_FALSE(HadRunner(first));
  EXPECT_EQ(Run(request).response.stdout().data(),
            first.response.stdout().data());
}

TEST_F(Warm, OrdinaryEnvironmentFilesAndArgumentsArrive) {
  v1::RunCodeRequest request = Python(
      "import os, sys\n"
      "print(os.environ['GREETING'], sys.argv[1:], os.getcwd())\n"
      "print(open('data/in.txt').read(), os.access('tool', os.X_OK))\n"
      "print(sys.stdin.read(), oct(os.umask(0)))\n"
      "open('out.txt', 'w').write('made')");
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
  EXPECT_EQ(result.response.stdout().data(),
            absl::StrCat("hello you ['a b', ''] /workspace\n",
                         std::string(300'000, 'x'), " True\ntyped 0o22\n"));
  ASSERT_EQ(result.response.files_size(), 1);
  EXPECT_EQ(result.response.files(0).content(), "made");
}

// ---- limits hold ----

TEST_F(Warm, LimitsHoldAndSayWhy) {
  const auto outcome = [](std::string code, auto set) {
    v1::RunCodeRequest request = Python(std::move(code));
    set(*request.mutable_limits());
    const RunResult result = Run(request);
    EXPECT_TRUE(HadRunner(result));
    return result.response.outcome();
  };
  const auto nothing = [](v1::Limits&) {};
  const auto half_a_second = [](v1::Limits& limits) {
    limits.mutable_wall_time()->set_nanos(500'000'000);
  };
  EXPECT_EQ(outcome("while True: pass", half_a_second), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(outcome("import time; time.sleep(99)", half_a_second),
            v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(outcome("x = bytearray(1 << 30)", nothing),
            v1::OUTCOME_MEMORY_LIMIT);
  EXPECT_EQ(outcome("import os\nwhile True: os.fork()", half_a_second),
            v1::OUTCOME_PIDS_LIMIT);
  EXPECT_EQ(outcome("while True: print('x' * 65536)", nothing),
            v1::OUTCOME_OUTPUT_LIMIT);
  EXPECT_EQ(outcome("while True: pass",
                    [](v1::Limits& limits) {
                      limits.mutable_cpu_time()->set_nanos(300'000'000);
                    }),
            v1::OUTCOME_CPU_LIMIT);
  EXPECT_EQ(outcome("import os; os.kill(os.getpid(), 9)", nothing),
            v1::OUTCOME_SIGNALED);
}

TEST_F(Warm, UsageLeavesOutWhatCameBeforeTheProgram) {
  for (int i = 0; i < 5; ++i) {
    const v1::Usage usage = Run(Python("pass")).response.usage();
    EXPECT_LT(ToAbsl(usage.cpu_user_time()) + ToAbsl(usage.cpu_system_time()),
              absl::Milliseconds(50));
    EXPECT_LT(usage.peak_memory_bytes(), uint64_t{32} << 20);
  }
}

TEST_F(Warm, ChildrenThatAreLeftBehindAreKilledAndCounted) {
  const RunResult result =
      Run(Python("import os, time\n"
                 "for _ in range(3):\n"
                 "    if os.fork() == 0:\n"
                 "        time.sleep(99)\n"
                 "print('done')"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "done\n");
  EXPECT_EQ(result.response.evidence().leftover_processes(), 3U);
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

// ---- a program that tampers with its runner ----

TEST_F(Warm, WhoeverTampersWithTheReportEndsOnlyItsOwnRun) {
  // A forged end, a flood, a closed pipe, half a message.
  for (const char* code :
       {"os.write(254, struct.pack('IiiIq', 3, 5, 0, 0, 0)); time.sleep(20)",
        "\nfor _ in range(20000): os.write(254, b'x' * 32)\nos._exit(5)",
        "os.close(254); sys.exit(5)", "os.write(254, b'abc'); sys.exit(5)",
        "os.write(254, struct.pack('IiiIq', 1, 5, 0, 9, 0)); sys.exit(5)",
        "os.write(254, struct.pack('IiiIq', 4, 5, 9999, 0, 0)); sys.exit(5)"}) {
    SCOPED_TRACE(code);
    const RunResult result =
        Run(Python(absl::StrCat("import os, struct, sys, time; ", code)));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
    EXPECT_EQ(result.response.exit_code(), 5);
    EXPECT_LT(result.elapsed, absl::Seconds(15));
  }
  EXPECT_THAT(Run(Python("print('fine')")), OutcomeIs(v1::OUTCOME_OK));
}

// ---- nothing is shared ----

TEST_F(Warm, NoTwoRunsDrawTheSameNumbers) {
  constexpr size_t kRuns = 50;
  const std::vector<v1::RunCodeRequest> requests(
      kRuns, Python("import random, secrets, uuid, tempfile, os\n"
                    "print(random.random())\n"
                    "print(random.Random().random())\n"
                    "print(secrets.token_hex(16))\n"
                    "print(uuid.uuid4())\n"
                    "print(uuid.uuid1().clock_seq, uuid.uuid1())\n"
                    "print(os.urandom(16).hex())\n"
                    "print(next(tempfile._get_candidate_names()))\n"
                    "import ssl; print(ssl.RAND_bytes(16).hex())\n"));
  std::vector<std::set<std::string>> seen(8);
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

TEST_F(Warm, NothingOfARunIsInAnother) {
  const std::string look =
      "import os, sys, json, builtins\n"
      "print(sorted(os.listdir('/workspace') + os.listdir('/tmp') +\n"
      "             os.listdir('/dev/shm') + os.listdir(os.environ['HOME'])))\n"
      "print([p for p in os.listdir('/proc') if p.isdigit()])\n"
      "print(hasattr(json, 'mark'), hasattr(builtins, 'mark'),\n"
      "      'mark' in os.environ, getattr(sys, 'mark', None))\n"
      "print(os.popen('ipcs -q 2>/dev/null | grep -c 0x').read().strip())\n";
  const std::string leave =
      "json.mark = builtins.mark = sys.mark = 1\n"
      "os.environ['mark'] = '1'\n"
      "for place in '/tmp', '/workspace', '/dev/shm', os.environ['HOME']:\n"
      "    open(place + '/mark', 'w').write('1')\n"
      "if os.fork() == 0:\n"
      "    import time; time.sleep(99)\n";
  std::set<std::string> outputs;
  const std::vector<v1::RunCodeRequest> requests(20, Python(look + leave));
  for (const RunResult& result : client().RunAll(requests, 4)) {
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    outputs.insert(result.response.stdout().data());
  }
  EXPECT_EQ(outputs, std::set<std::string>(
                         {"['main.py']\n['2']\nFalse False False None\n0\n"}));
}

TEST_F(Warm, ARunnerReachesNeitherItsZygoteNorTheYard) {
  const RunResult result = Run(Python(
      "import os, signal\n"
      "for attempt in (lambda: os.kill(1, 9), lambda: os.killpg(0, 0) or 1/0,\n"
      "                lambda: os.open('/proc/1/root', 0),\n"
      "                lambda: open('/proc/self/mem', 'wb'),\n"
      "                lambda: os.setuid(0)):\n"
      "    try:\n"
      "        print('did', attempt())\n"
      "    except (OSError, ZeroDivisionError) as e:\n"
      "        print(type(e).__name__)\n"
      "print(os.getppid(), os.getsid(0) == os.getpgid(0) == os.getpid())\n"
      "print(open('/proc/self/environ').read() == '',\n"
      "      open('/proc/self/cmdline').read().rstrip('\\0'))\n"));
  // Init's directory is not even listed, and nothing in /proc can be written.
  EXPECT_EQ(result.response.stdout().data(),
            "PermissionError\nZeroDivisionError\nFileNotFoundError\n"
            "OSError\nPermissionError\n0 True\n"
            "True /usr/bin/python3 main.py\n");
}

// ---- faults ----

class WarmFaults : public OwnDaemonTest {
 protected:
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
    return WaitUntil(
        [&] { return HadRunner(client().Run(Python("print(1)"))); }, kSettle);
  }
};

TEST_F(WarmFaults, AZygoteThatIsKilledIsReplacedAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_TRUE(AwaitZygote());
  for (int round = 0; round < 3; ++round) {
    for (const Process& zygote : Named("sandglass-zygote")) {
      ASSERT_TRUE(Kill(zygote, SIGKILL));
    }
    const std::vector<v1::RunCodeRequest> requests(20, Python("print('ok')"));
    for (const RunResult& result : client().RunAll(requests, 4)) {
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    }
    ASSERT_TRUE(AwaitZygote());
  }
  StopDaemon();
}

TEST_F(WarmFaults, AZygoteThatHangsIsKilledAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_TRUE(AwaitZygote());
  // A child that was born just now still has its name.
  std::vector<Process> before;
  ASSERT_TRUE(WaitUntil(
      [&] {
        before = Named("sandglass-zygote");
        return before.size() == 1;
      },
      kSettle))
      << Describe(before);
  ASSERT_TRUE(Kill(before.front(), SIGSTOP));
  // More than wait already.
  const std::vector<v1::RunCodeRequest> requests(20, Python("print('ok')"));
  for (const RunResult& result : client().RunAll(requests, 4)) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_LT(result.elapsed, absl::Seconds(30));
  }
  ASSERT_TRUE(AwaitZygote());
  EXPECT_TRUE(WaitUntil(
      [&] {
        const std::vector<Process> now = Named("sandglass-zygote");
        return now.size() == 1 && now.front() != before.front();
      },
      kSettle));
  StopDaemon();
}

TEST_F(WarmFaults, AZygoteIsReplacedAfterItsRunnersAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"pool": {"floor": 2, "zygote_runs": 5}})"}));
  ASSERT_TRUE(AwaitZygote());
  std::set<pid_t> zygotes;
  // Siblings have their hash seed in common, others not.
  std::set<std::string> hashes;
  for (int i = 0; i < 40; ++i) {
    const RunResult result = client().Run(Python("print(hash('a'))"));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    if (HadRunner(result)) hashes.insert(result.response.stdout().data());
    for (const Process& zygote : Named("sandglass-zygote")) {
      zygotes.insert(zygote.pid);
    }
  }
  EXPECT_GE(zygotes.size(), 3U);
  EXPECT_GE(hashes.size(), 3U);
  // Those that were replaced end.
  EXPECT_TRUE(WaitUntil([&] { return Named("sandglass-zygote").size() <= 2; },
                        kSettle));
  StopDaemon();
}

TEST_F(WarmFaults, APoolFloorOfZeroHasNoZygote) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({"pool": {"floor": 0}})"}));
  const RunResult result = client().Run(Python("print('ok')"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_FALSE(HadRunner(result));
  EXPECT_EQ(result.response.timings().kind(), "exec");
  EXPECT_TRUE(Named("sandglass-zygote").empty());
  StopDaemon();
}

TEST_F(WarmFaults, ARunnerThatDiedWaitingIsNotGivenOut) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({}));
  ASSERT_TRUE(AwaitZygote());
  for (int round = 0; round < 3; ++round) {
    for (const Process& runner : Named("sandglass-idle")) {
      (void)Kill(runner, SIGKILL);
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(client().Run(Python("print('ok')")),
                  OutcomeIs(v1::OUTCOME_OK));
    }
  }
  StopDaemon();
}

TEST_F(WarmFaults, TwoHundredAtOnceOnAnEmptyPool) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"pool": {"floor": 1, "ceiling": 2}})"}));
  const std::vector<v1::RunCodeRequest> requests(200, Python("print('ok')"));
  for (const RunResult& result : client().RunAll(requests, 64)) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().data(), "ok\n");
  }
  StopDaemon();
}

TEST_F(WarmFaults, ADaemonThatStopsWhileItRefillsLeavesNothing) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(
        StartDaemon({.config = R"({"pool": {"floor": 16, "ceiling": 16}})"}));
    (void)client().Run(Python("print(1)"));
    StopDaemon();
  }
}

}  // namespace
}  // namespace sandglass::testing
