// Programs that import large libraries, in interpreters that have imported them
// already. They need Debian's numpy, pandas and matplotlib.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/support/calls/warm.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/tier.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

// Imports from a cold disk take their time.
constexpr absl::Duration kSettle = absl::Seconds(90);

// The same run in a fresh interpreter: the name acts at an interpreter's start,
// the value is what it has anyway.
v1::RunCodeRequest Fresh(v1::RunCodeRequest request) {
  (*request.mutable_env())["MKL_NUM_THREADS"] = "1";
  return request;
}

class Science : public DaemonTest {
 protected:
  // The first program that wants them has the zygote started.
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_TRUE(WaitUntil([] { return HadRunner(Run(Python("import numpy"))); },
                          kSettle));
  }
};

TEST_F(Science, ProgramsDoAsInAFreshInterpreter) {
  std::vector<ConformanceProgram> all =
      ConformancePrograms("science", "python", ".py");
  ASSERT_GT(all.size(), 20U);
  const auto programs = OfThisTier(std::move(all), 3);
  std::vector<v1::RunCodeRequest> requests;
  for (const ConformanceProgram& each : programs) {
    requests.push_back(Fresh(each.request));
    requests.push_back(each.request);
  }
  const std::vector<RunResult> results = client().RunAll(requests, 2);
  for (size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(programs[i].name);
    ASSERT_THAT(results[2 * i], IsOk());
    ASSERT_THAT(results[2 * i + 1], IsOk());
    EXPECT_EQ(results[2 * i].response.timings().kind(), "exec");
    EXPECT_EQ(results[2 * i + 1].response.timings().kind(), "python-science");
    ExpectSame(results[2 * i], results[2 * i + 1]);
  }
}

TEST_F(Science, TheImportsOfTheProgramChooseTheKind) {
  const auto kind = [](const std::string& code) {
    return Run(Python(code)).response.timings().kind();
  };
  EXPECT_EQ(kind("import pandas as pd"), "python-science");
  EXPECT_EQ(kind("if True:\n    from numpy.linalg import inv"),
            "python-science");
  EXPECT_EQ(kind("import json"), "python-lean");
  // A wrong guess costs time and nothing else.
  const RunResult late =
      Run(Python("print(__import__('num' + 'py').arange(3).sum())"));
  EXPECT_EQ(late.response.timings().kind(), "python-lean");
  EXPECT_EQ(late.response.stdout().data(), "3\n");
}

TEST_F(Science, NoTwoRunsDrawTheSameNumbers) {
  constexpr size_t kRuns = 50;
  const std::vector<v1::RunCodeRequest> requests(
      kRuns, Python("import random, secrets, uuid\n"
                    "import numpy as np\n"
                    "import pandas as pd\n"
                    "print(np.random.random())\n"
                    "print(np.random.RandomState().random())\n"
                    "print(np.random.default_rng().random())\n"
                    "print(pd.Series(range(10**6)).sample(3).tolist())\n"
                    "print(random.random())\n"
                    "print(secrets.token_hex(16), uuid.uuid4())\n"));
  std::vector<std::set<std::string>> seen(6);
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

TEST_F(Science, NumericLibrariesHaveTheThreadsOfTheRun) {
  v1::RunCodeRequest request = Python(
      "import os\nimport numpy as np\na = np.ones((300, 300))\na @ a\n"
      "print(len(os.listdir('/proc/self/task')))");
  EXPECT_EQ(Run(request).response.stdout().data(), "1\n");
  request.set_profile("large");
  const RunResult fresh = Run(Fresh(request));
  const RunResult warm = Run(request);
  EXPECT_TRUE(HadRunner(warm));
  EXPECT_EQ(warm.response.stdout().data(), "2\n");
  EXPECT_EQ(fresh.response.stdout().data(), "2\n");
}

TEST_F(Science, LimitsEndAWarmProgramWithNumericLibraries) {
  const RunResult too_much = Run(Python(
      "import numpy as np\nkeep = [np.ones(1 << 20) for _ in range(999)]"));
  EXPECT_TRUE(HadRunner(too_much));
  EXPECT_THAT(too_much, OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
  v1::RunCodeRequest request =
      Python("import numpy as np\nwhile True: np.ones(9).sum()");
  request.mutable_limits()->mutable_wall_time()->set_nanos(300'000'000);
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_TIMEOUT));
}

// ---- what the operator can get wrong ----

class Preload : public ChangedPolicyTest {
 protected:
  bool Becomes(const std::string& code, const std::string& kind) {
    return WaitUntil(
        [&] {
          const RunResult result = client().Run(Python(code));
          EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
          return result.response.timings().kind() == kind;
        },
        kSettle);
  }
};

TEST_F(Preload, AModuleThatCannotBeImportedIsNamedAndTheOthersServe) {
  ASSERT_NO_FATAL_FAILURE(StartWith("languages/python.json", "\"preload\": [\n",
                                    "\"preload\": [\"no_such_module\",\n"));
  EXPECT_TRUE(Becomes("import re; print(1)", "python-lean"));
  EXPECT_THAT(daemon().LogTail(1000),
              HasSubstr("preload no_such_module: ModuleNotFoundError"));
  StopDaemon();
}

TEST_F(Preload, AModuleThatStartsAThreadHasNoZygoteAndNoRunFails) {
  ASSERT_NO_FATAL_FAILURE(StartWith(
      "languages/python/zygote.py", "    _tell_open_files()\n",
      "    __import__('_thread').start_new_thread(time.sleep, (99,))\n"));
  EXPECT_TRUE(WaitUntil(
      [&] {
        return absl::StrContains(daemon().LogTail(1000),
                                 "the modules started 1 threads");
      },
      kSettle));
  EXPECT_TRUE(Becomes("print(1)", "exec"));
  StopDaemon();
}

TEST_F(Preload, AKindThatLacksWhatItNeedsIsLeftOutAndTheGeneralOneServes) {
  ASSERT_NO_FATAL_FAILURE(StartWith("languages/python.json",
                                    "/usr/lib/python3/dist-packages/pandas",
                                    "/usr/lib/nowhere"));
  EXPECT_TRUE(Becomes("import numpy; print(1)", "python-lean"));
  EXPECT_THAT(daemon().LogTail(1000), HasSubstr("zygote_left_out"));
  EXPECT_THAT(daemon().LogTail(1000), HasSubstr("missing=/usr/lib/nowhere"));
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
