// Jails that are made before they are asked for.

#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/tier.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr absl::Duration kSettle = absl::Seconds(20);

class Pool : public OwnDaemonTest {
 protected:
  void Start(int floor) {
    ASSERT_NO_FATAL_FAILURE(StartDaemon(
        {.config = absl::StrCat(R"({"pool": {"idle_age": "1s", "floor": )",
                                floor, "}}")}));
    // Where there is no numpy there is no yard of large libraries.
    if (absl::StrContains(daemon().LogTail(1000), " zygote_left_out ")) {
      special_zygotes_ = 0;
    }
  }

  std::vector<Process> Inits() {
    std::vector<Process> inits;
    for (const Process& process : daemon().Processes()) {
      if (NameOf(process.pid) == "sandglass-init") inits.push_back(process);
    }
    return inits;
  }

  // Each yard, one for programs and one for each language with a zygote, has
  // `floor` jails; their spawners have two spares for programs, and one for
  // runners; that of large libraries has its spare alone. In up to two more
  // node waits.
  static constexpr size_t kZygotes = 2;
  size_t JailsFor(size_t floor) const {
    return floor == 0 ? 0
                      : (1 + kZygotes) * floor + 2 + kZygotes +
                            special_zygotes_ + std::min<size_t>(floor, 2);
  }

  ::testing::AssertionResult Waiting(size_t floor) {
    const size_t count = JailsFor(floor);
    if (WaitUntil([&] { return Inits().size() == count; }, kSettle)) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "there are " << Inits().size() << " jails, not " << count;
  }

 private:
  size_t special_zygotes_ = 1;
};

v1::RunCodeRequest Sizes(uint64_t memory, uint64_t tmp, uint64_t workspace,
                         uint64_t files) {
  v1::RunCodeRequest request = Bash(
      "df -B1 --output=size /tmp /workspace | tail -n 2 | tr -d ' '\n"
      "df --output=itotal /workspace | tail -n 1 | tr -d ' '\n"
      // Too much for the smaller jail below, little for the larger one.
      "head -c 60M /dev/zero | tail -c 60M > /dev/null && echo had 60 MiB");
  request.mutable_limits()->set_memory_bytes(memory);
  request.mutable_limits()->set_tmp_bytes(tmp);
  request.mutable_limits()->set_workspace_bytes(workspace);
  request.mutable_limits()->set_max_files(files);
  return request;
}

TEST_F(Pool, JailsWaitForRunsAndAreReplaced) {
  ASSERT_NO_FATAL_FAILURE(Start(3));
  ASSERT_TRUE(Waiting(3));
  const std::vector<Process> before = Inits();
  const RunResult result = client().Run(Bash("echo hello"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(result.response.timings().warm());
  EXPECT_GT(result.response.timings().setup_steps_size(), 15)
      << "the steps of its making are told, also when they came before";
  // One is used up and a new one is there.
  EXPECT_TRUE(WaitUntil(
      [&] {
        const std::vector<Process> now = Inits();
        return now.size() == JailsFor(3) && now != before;
      },
      kSettle));
  StopDaemon();
}

TEST_F(Pool, WithAFloorOfZeroEachRunMakesItsJail) {
  ASSERT_NO_FATAL_FAILURE(Start(0));
  for (int i = 0; i < 5; ++i) {
    const RunResult result = client().Run(Bash("echo hello"));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_FALSE(result.response.timings().warm());
    EXPECT_GT(result.response.timings().setup_steps_size(), 15);
    ASSERT_TRUE(Waiting(0));
  }
  StopDaemon();
}

TEST_F(Pool, AJailMadeAheadGetsTheLimitsOfItsRun) {
  ASSERT_NO_FATAL_FAILURE(Start(2));
  const std::string small = "4194304\n8388608\n100\n";
  const std::string large = "33554432\n67108864\n4000\n";
  // Smaller, larger and smaller again, in jails that were raised for others.
  // One may be made for its run, when the pool has just taken the spares.
  int warm = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Waiting(2));
    const RunResult less =
        client().Run(Sizes(48 * kMiB, 4 * kMiB, 8 * kMiB, 100));
    warm += less.response.timings().warm() ? 1 : 0;
    EXPECT_THAT(less, OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
    EXPECT_EQ(less.response.stdout().data(), small);
    ASSERT_TRUE(Waiting(2));
    const RunResult more =
        client().Run(Sizes(256 * kMiB, 32 * kMiB, 64 * kMiB, 4000));
    warm += more.response.timings().warm() ? 1 : 0;
    EXPECT_THAT(more, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(more.response.stdout().data(), large + "had 60 MiB\n");
  }
  EXPECT_GE(warm, 2);
  StopDaemon();
}

TEST_F(Pool, AJailThatDiedWaitingIsNotGivenOut) {
  ASSERT_NO_FATAL_FAILURE(Start(4));
  const int rounds = OnlyAPart() ? 2 : 5;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(Waiting(4));
    for (const Process& init : Inits()) ASSERT_TRUE(Kill(init, SIGKILL));
    // Before and while the spawner learns of it.
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(client().Run(Bash("echo hello")), OutcomeIs(v1::OUTCOME_OK));
    }
  }
  ASSERT_TRUE(Waiting(4));
  StopDaemon();
}

TEST_F(Pool, NothingOfARunIsInTheNextJail) {
  ASSERT_NO_FATAL_FAILURE(Start(1));
  for (int i = 0; i < 3; ++i) {
    const RunResult result = client().Run(Bash(
        "ls -A /tmp /workspace /dev/shm ~ | grep -v main.sh\n"
        "touch /tmp/mine /workspace/mine /dev/shm/mine ~/mine; sleep 100 &"));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().data(),
              "/dev/shm:\n\n/home/sandbox:\n\n/tmp:\n\n/workspace:\n");
  }
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
