// Programs that others wrote, with known right answers: they must end in a jail
// as they end outside. The folder is no part of the project.

#include "tests/support/host/workloads.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

constexpr int kInFlight = 4;
// For programs that never end.
constexpr absl::Duration kEndlessWall = absl::Seconds(3);

// One of the programs needs 500 MiB and, alone on a machine, 8 s.
constexpr char kRoomyProfile[] = R"({
  "description": "For programs that need more than the default",
  "limits": {"memory_bytes": "1GiB", "wall_time": "100s", "cpu_time": "100s"}
})";
constexpr absl::Duration kDeadline = absl::Seconds(110);

class Workloads : public DaemonTest,
                  public ::testing::WithParamInterface<const char*> {
 protected:
  // A daemon with the shipped policy and one profile more, as an operator would
  // add it.
  static void SetUpTestSuite() {
    policy_ = MakeTestDirectory();
    std::error_code error;
    std::filesystem::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy_,
                          std::filesystem::copy_options::recursive, error);
    EXPECT_FALSE(error) << error.message();
    std::ofstream(policy_ + "/profiles/roomy.json") << kRoomyProfile;
    StartSuite({.extra_arguments = {"--policy-dir", policy_}});
  }
  static void TearDownTestSuite() {
    DaemonTest::TearDownTestSuite();
    std::error_code ignored;
    std::filesystem::remove_all(policy_, ignored);
  }

 private:
  static std::string policy_;
};

std::string Workloads::policy_;

void CheckAnswer(const Workload& workload, const RunResult& result) {
  SCOPED_TRACE(workload.id);
  ASSERT_THAT(result, IsOk());
  const v1::RunCodeResponse& response = result.response;
  if (!workload.expected_exit) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
    EXPECT_EQ(response.evidence().limit().kind(), v1::LIMIT_KIND_WALL_TIME);
    return;
  }
  EXPECT_THAT(result, OutcomeIs(*workload.expected_exit == 0
                                    ? v1::OUTCOME_OK
                                    : v1::OUTCOME_NONZERO_EXIT));
  EXPECT_TRUE(response.has_exit_code());
  EXPECT_EQ(response.exit_code(), *workload.expected_exit);
  if (workload.expected_stdout) {
    EXPECT_EQ(response.stdout().data(), *workload.expected_stdout);
  }
  if (workload.expected_stdout_tail) {
    EXPECT_TRUE(absl::EndsWith(response.stdout().data(),
                               *workload.expected_stdout_tail))
        << "stdout ends: " << Describe(response);
  }
}

// With every change one program of sixteen runs, each night all of them: they
// are nearly seven hundred, and take two and a half minutes on two processors.
size_t EveryNth() { return OnlyAPart() ? 16 : 1; }

// The processes that are left are looked for by the fixture: after each test
// the daemon must have none more than before.
TEST_P(Workloads, EveryProgramEndsWithTheExpectedOutcome) {
  const std::string folder = WorkloadFolder();
  if (folder.empty()) {
    const std::string message =
        "THE WORKLOADS ARE NOT THERE: set SANDGLASS_WORKLOADS to their folder; "
        "not run: " +
        std::string(GetParam());
    ASSERT_FALSE(MustRun()) << message;
    GTEST_SKIP() << message;
  }
  const auto workloads = ReadWorkloads(folder, GetParam());
  ASSERT_TRUE(workloads.ok()) << workloads.status().message();
  ASSERT_FALSE(workloads->empty());

  std::vector<const Workload*> kept;
  std::vector<v1::RunCodeRequest> requests;
  for (size_t i = 0; i < workloads->size(); i += EveryNth()) {
    const Workload& workload = (*workloads)[i];
    const std::vector<std::string> missing = MissingModules(workload.modules);
    if (!missing.empty()) {
      std::cerr << "NOT RUN: " << workload.id << " needs "
                << absl::StrJoin(missing, ", ")
                << " in this host's /usr/bin/python3\n";
      EXPECT_FALSE(MustRun()) << workload.id << " could not run";
      continue;
    }
    kept.push_back(&workload);
    requests.push_back(workload.expected_exit
                           ? workload.request
                           : WithWall(workload.request, kEndlessWall));
    if (std::string(GetParam()) == "bigcodebench_python") {
      requests.back().set_profile("roomy");
    }
  }
  ASSERT_FALSE(kept.empty()) << "none of the programs can run on this host";
  const std::vector<RunResult> results =
      client().RunAll(requests, kInFlight, kDeadline);
  for (size_t i = 0; i < kept.size(); ++i) CheckAnswer(*kept[i], results[i]);
}

INSTANTIATE_TEST_SUITE_P(
    Folder, Workloads,
    ::testing::Values("humaneval_x_python", "humaneval_x_javascript",
                      "humaneval_x_java", "humaneval_x_cpp", "humaneval_x_go",
                      "mbxp_ruby", "tora_python", "bigcodebench_python",
                      "multiple_bash", "multiple_bash_wrong"),
    [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace sandglass::testing
