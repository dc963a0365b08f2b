// However slow one step of a jail's making is, jails are made at the same time.
// Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/os/clocks.h"
#include "tests/jail/session_fixture.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kAtOnce = 8;
constexpr char kSlowForkKind[] = "python-slow-fork";
constexpr absl::Duration kPatience = absl::Seconds(60);

// Far longer than anything that the machine may be busy with.
int SlowMillis() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
  const char* millis = std::getenv("SANDGLASS_SLOW_STEP_MS");
  int wanted = 200;
  return millis != nullptr && absl::SimpleAtoi(millis, &wanted) ? wanted : 200;
}

// From now on this step is slow; "" is none.
void MakeSlow(const std::string& step) {
  const std::string path = g_layers + "/slow-step";
  std::ofstream(path + "-next") << step << " " << SlowMillis();
  std::filesystem::rename(path + "-next", path);
}

void AwaitZygotes() {
  const absl::Time end = os::SteadyNow() + kPatience;
  const auto serve = [] {
    const std::vector<YardStock> stocks =
        g_sandbox->CollectStock(absl::Seconds(5));
    return stocks.size() == 3 * kAtOnce &&
           std::ranges::all_of(stocks, [](const YardStock& stock) {
             return stock.zygote_serves || stock.kind.starts_with(kExecKind);
           });
  };
  while (!serve()) {
    ASSERT_LT(os::SteadyNow(), end) << "the zygotes don't come";
    absl::SleepFor(absl::Milliseconds(20));
  }
}

// How long it takes until the last of so many jails is ready.
absl::Duration MakeManyAtOnce(const std::string& kind) {
  std::vector<std::unique_ptr<Jail>> jails(kAtOnce);
  const absl::Time begin = os::SteadyNow();
  std::vector<std::thread> callers;
  callers.reserve(kAtOnce);
  for (std::unique_ptr<Jail>& jail : jails) {
    callers.emplace_back([&jail, &kind] { jail = ReadyJail(kind); });
  }
  for (std::thread& caller : callers) caller.join();
  const absl::Duration took = os::SteadyNow() - begin;
  jails.clear();
  EXPECT_TRUE(g_sandbox->WaitUntilEmpty(kPatience));
  return took;
}

void ExpectMadeTogether(const std::string& step, const std::string& kind) {
  const absl::Duration took = MakeManyAtOnce(kind);
  const absl::Duration slow = absl::Milliseconds(SlowMillis());
  std::cout << kind << ", " << step << ": " << took << "\n";
  EXPECT_GE(took, slow) << "the step is not on the way";
  // One after another they would take at least eight times as long.
  EXPECT_LT(took, 7 * slow);
}

class SlowStep : public ::testing::TestWithParam<const char*> {
 protected:
  ~SlowStep() override { MakeSlow(""); }
};

TEST_P(SlowStep, DelaysEachJailOnce) {
  AwaitZygotes();
  for (const char* kind : {kExecKind, kPythonKind}) {
    MakeSlow("");
    MakeManyAtOnce(kind);  // what was made ahead is gone
    MakeSlow(GetParam());
    ExpectMadeTogether(GetParam(), kind);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, SlowStep,
    ::testing::Values("prepare_cgroup", "set_limits", "enter_netns",
                      "clone_init", "leave_netns", "map_uids", "wait_for_maps",
                      "join_cgroups", "mount_image", "mount_scratch",
                      "mount_proc", "limit_files", "pivot_root",
                      "landlock_rules", "make_pipes", "limit_init_rights",
                      "close_fds", "drop_init_rights"),
    [](const auto& tested) { return std::string(tested.param); });

TEST(SlowFork, DelaysEachJailOnce) {
  AwaitZygotes();
  ExpectMadeTogether("fork", kSlowForkKind);
}

void MakeWide(SandboxOptions& options) {
  options.max_jails = 32;
  options.spare_jails = 0;
  options.exec_yards = kAtOnce;
  options.parallel_raises = 2;
  options.zygotes[0].yards = kAtOnce;
  ZygoteOptions slow = options.zygotes[0];
  slow.kind = kSlowForkKind;
  slow.script = absl::StrCat(
      "import os, time\n"
      "os.register_at_fork(before=lambda: time.sleep(",
      SlowMillis(), " / 1000))\n", slow.script);
  options.zygotes.push_back(std::move(slow));
}

}  // namespace
}  // namespace sandglass::sandbox

int main(int argc, char** argv) {
  return sandglass::sandbox::RunSessionTests(argc, argv,
                                             sandglass::sandbox::MakeWide);
}
