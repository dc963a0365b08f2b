// Programs that others wrote to hurt a kernel, the few of
// tests/by_hand/judges.sh that reach a limit or once were trouble for others.
// The fixture adds to each test that no process is left and the daemon still
// stands.

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/shell.h"

namespace sandglass::testing {
namespace {

using ::testing::AnyOf;

struct Stressor {
  const char* name;  // stress-ng's
  v1::Outcome outcome;
  // Long where a limit is to end it.
  int seconds = 1;
  v1::Outcome also = outcome;  // with other versions of stress-ng
};

class StressNg : public DaemonTest,
                 public ::testing::WithParamInterface<Stressor> {
 protected:
  // The first to use a file pays for its place in the page cache. A jail that
  // does runs at its limit for long on what it drops of that and reads again,
  // before the kernel ends anything.
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_EQ(RunShell("program=$(command -v stress-ng) && "
                       "cat $program $(ldd $program | grep -o '/[^ ]*') "
                       ">/dev/null </dev/null && echo read"),
              "read\n");
  }
};

TEST_P(StressNg, EndsAtItsLimitsAndHarmsNoNeighbour) {
  v1::RunCodeRequest request = WithWall(
      Bash(absl::StrCat("stress-ng --pathological --temp-path /tmp --timeout ",
                        GetParam().seconds, " --", GetParam().name,
                        " 1 >/dev/null 2>&1")),
      absl::Seconds(25));
  request.mutable_limits()->set_memory_bytes(128 << 20);
  RunResult result;
  std::thread run([&] { result = Run(request); });
  const RunResult neighbour = Run(Python("print(6 * 7)"));
  run.join();
  EXPECT_THAT(result,
              AnyOf(OutcomeIs(GetParam().outcome), OutcomeIs(GetParam().also)));
  EXPECT_LT(result.elapsed, absl::Seconds(20));
  for (const RunResult& other : {neighbour, Run(Python("print(6 * 7)"))}) {
    ASSERT_THAT(other, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(other.response.stdout().data(), "42\n");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Judges, StressNg,
    ::testing::Values(
        // Memory: mapped, in files without a name, in pipes, pinned.
        Stressor{"bigheap", v1::OUTCOME_MEMORY_LIMIT, 20},
        Stressor{"memfd", v1::OUTCOME_MEMORY_LIMIT, 20},
        Stressor{"oom-pipe", v1::OUTCOME_OK},
        Stressor{"mlockmany", v1::OUTCOME_OK},
        // Processes, and switches between them.
        Stressor{"fork", v1::OUTCOME_OK}, Stressor{"switch", v1::OUTCOME_OK},
        // Calls with arguments that make no sense, ioctls of every device.
        Stressor{"sysinval", v1::OUTCOME_OK},
        Stressor{"bad-ioctl", v1::OUTCOME_OK},
        // Refused: keys, mounts.
        Stressor{"key", v1::OUTCOME_NONZERO_EXIT, 1, v1::OUTCOME_OK},
        Stressor{"bind-mount", v1::OUTCOME_NONZERO_EXIT}),
    [](const ::testing::TestParamInfo<Stressor>& stressor) {
      std::string name = stressor.param.name;
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

}  // namespace
}  // namespace sandglass::testing
