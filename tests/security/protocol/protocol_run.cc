#include "tests/security/protocol/protocol_run.h"

#include <dirent.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "sandbox/jail/socket_watch.h"
#include "server/job/one_use_job.h"
#include "server/languages/fill_jail.h"
#include "server/live_policy/live_policy.h"

namespace sandglass::server {
namespace {

constexpr char kRunnerKind[] = "python-lean";

int64_t OpenFds() {
  int64_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// Once no thread that closes some aside is at work any more.
int64_t SettledFds() {
  int64_t count = OpenFds();
  for (int unchanged = 0; unchanged < 5;) {
    absl::SleepFor(absl::Milliseconds(10));
    const int64_t now = OpenFds();
    unchanged = now == count ? unchanged + 1 : 0;
    count = now;
  }
  return count;
}

// VmHWM, which clear_refs sets back.
int64_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int64_t kib = 0;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "VmHWM:") &&
        absl::ConsumeSuffix(&rest, " kB") && absl::SimpleAtoi(rest, &kib)) {
      return kib * 1024;
    }
  }
  ADD_FAILURE() << "no VmHWM in /proc/self/status";
  return 0;
}

void ResetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

Job SmallJob() {
  Job job;
  job.run_id = "test";
  job.template_name = "default";
  job.source_file = "main.py";
  job.code = "print(1)\n";
  job.argv = {"/usr/bin/python3", "main.py"};
  job.limits.wall_time = absl::Seconds(1);
  return job;
}

Job RunnerJob() {
  Job job = SmallJob();
  job.zygote = kRunnerKind;
  job.runner_argv = {"main.py"};
  return job;
}

Ended RunAgainst(const Attack& attack, const Job& job, absl::Duration bound) {
  ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
  Ended ended;
  static const LivePolicy policy = [] {
    absl::StatusOr<PolicySet> loaded =
        PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return LivePolicy(*std::move(loaded));
  }();
  // Has two descriptors of its own from now on.
  (void)sandbox::SocketWatch::Shared();
  const int64_t fds = SettledFds();
  ResetPeakMemory();
  const int64_t memory = PeakMemory();
  {
    FakeYard yard(job.zygote.empty() ? sandbox::kExecKind : job.zygote, attack);
    const PrestartKinds prestart(policy);
    JailPool pool(
        {{.floor = 0}},
        [&](const JailKey& key, sandbox::FillFor fill_for) {
          return FillJail(yard.sandbox(), prestart, key, fill_for);
        },
        [](sandbox::Jail&) { return true; });
    CancelToken cancel;
    absl::Notification over;
    std::thread worker([&] {
      const absl::Time began = absl::Now();
      ended.result = RunJob(yard.sandbox(), pool, job, cancel, nullptr);
      ended.took = absl::Now() - began;
      if (ended.result.ok()) ended.result->jail.reset();
      over.Notify();
    });
    if (!over.WaitForNotificationWithTimeout(bound)) {
      ADD_FAILURE() << "the worker is held up for more than " << bound;
      yard.Abort();
    }
    worker.join();
    EXPECT_TRUE(yard.sandbox().WaitUntilEmpty(absl::Seconds(10)));
    ended.made = yard.made();
    ended.killed = yard.killed();
  }
  EXPECT_EQ(ended.killed, ended.made) << "a jail was left alive";
  EXPECT_LT(PeakMemory() - memory, kMaxGrowth);
  EXPECT_EQ(SettledFds(), fds) << "descriptors were left open";
  return ended;
}

void ExpectBroken(const Ended& ended) {
  EXPECT_EQ(ended.result.status().code(), absl::StatusCode::kInternal)
      << ended.result.status();
}

void ExpectOutcome(const Ended& ended, policy::Outcome outcome) {
  ASSERT_TRUE(ended.result.ok()) << ended.result.status();
  EXPECT_EQ(policy::OutcomeName(ended.result->verdict.outcome),
            policy::OutcomeName(outcome));
  EXPECT_GE(ended.result->facts.wall_time, absl::ZeroDuration());
  EXPECT_LE(ended.result->facts.wall_time, ended.took);
}

}  // namespace sandglass::server
