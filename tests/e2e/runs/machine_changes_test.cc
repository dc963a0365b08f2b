// A machine with few processors, one that loses them while programs run, and
// callers who all want the same at once.

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/slowdown.h"

namespace sandglass::testing {
namespace {

cpu_set_t Allowed(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(thread, sizeof(set), &set);
  return set;
}

cpu_set_t FirstOf(const cpu_set_t& set) {
  cpu_set_t first;
  CPU_ZERO(&first);
  for (size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &set)) continue;
    CPU_SET(i, &first);
    break;
  }
  return first;
}

class Processors : public OwnDaemonTest {
 protected:
  void TearDown() override {
    sched_setaffinity(0, sizeof(all_), &all_);
    OwnDaemonTest::TearDown();
  }

  // Lets all threads that the daemon has now, in jails as well, run on these
  // alone, as a cpuset of a container does. Returns to how many it was told.
  int Confine(const cpu_set_t& set) {
    int threads = 0;
    for (const Process& process : daemon().Processes()) {
      // It may have ended.
      std::error_code gone;
      const std::string tasks = absl::StrCat("/proc/", process.pid, "/task");
      for (const auto& task :
           std::filesystem::directory_iterator(tasks, gone)) {
        const pid_t thread = std::stoi(task.path().filename());
        threads += sched_setaffinity(thread, sizeof(set), &set) == 0 ? 1 : 0;
      }
    }
    return threads;
  }

  const cpu_set_t all_ = Allowed(0);
};

TEST_F(Processors, OneIsEnough) {
  const cpu_set_t one = FirstOf(all_);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  StartDaemon();
  const std::vector<v1::RunCodeRequest> requests = {
      Python("import os; print(os.cpu_count())"), Bash("nproc"),
      Program("ruby", "require 'etc'; puts Etc.nprocessors"),
      Program("javascript", "console.log(1)")};
  for (int round = 0; round < 5; ++round) {
    for (const RunResult& result : client().RunAll(requests, 4)) {
      ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
      EXPECT_EQ(result.response.stdout().data(), "1\n");
    }
  }
  {
    TestSession session(client());
    ASSERT_THAT(session.status(), IsOk());
    EXPECT_THAT(session.Run("print(2)"), OutcomeIs(v1::OUTCOME_OK));
  }
  StopDaemon();
}

TEST_F(Processors, WhatIsTakenAwayIsDoneWithout) {
  StartDaemon();
  std::atomic<bool> ended = false;
  std::atomic<int> runs = 0;
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      Client own(daemon().address());
      while (!ended) {
        const RunResult result =
            own.Run(i % 2 == 0 ? Python("print(1)") : Bash("echo 1"));
        EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
        ++runs;
      }
    });
  }
  for (int round = 0; round < 3; ++round) {
    for (const cpu_set_t& set : {FirstOf(all_), all_}) {
      // The daemon's own threads, spawners, zygotes.
      EXPECT_GT(Confine(set), 10);
      const int before = runs;
      absl::SleepFor(absl::Milliseconds(500));
      EXPECT_GT(runs, before);
    }
  }
  ended = true;
  for (std::thread& caller : callers) caller.join();
  StopDaemon();
}

// How many calls are made at once.
constexpr int kCrowd = 10'000;

class Crowd : public OwnDaemonTest {
 protected:
  struct Call {
    grpc::ClientContext context;
    v1::RunCodeResponse response;
    grpc::Status status;
  };

  // Calls them all at once, and waits for the answers.
  void RunAtOnce(const v1::RunCodeRequest& request) {
    std::vector<std::unique_ptr<Call>> calls(kCrowd);
    absl::BlockingCounter left(kCrowd);
    for (std::unique_ptr<Call>& call : calls) {
      call = std::make_unique<Call>();
      call->context.set_deadline(
          absl::ToChronoTime(absl::Now() + absl::Minutes(5) * Slowdown()));
      client().stub().async()->RunCode(&call->context, &request,
                                       &call->response,
                                       [&left, call = call.get()](auto status) {
                                         call->status = std::move(status);
                                         left.DecrementCount();
                                       });
    }
    left.Wait();
    int ok = 0;
    for (const std::unique_ptr<Call>& call : calls) {
      ok += call->status.ok() && call->response.outcome() == v1::OUTCOME_OK &&
                    call->response.stdout().data() == "1\n"
                ? 1
                : 0;
    }
    EXPECT_EQ(ok, kCrowd);
  }
};

TEST_F(Crowd, WantsOneLanguageAndThenAnother) {
  StartDaemon({.config = R"({"admission": {"max_queued": 20000,
      "max_queued_per_caller": 20000, "queue_timeout": "10m"}})"});
  RunAtOnce(Python("print(1)"));
  RunAtOnce(Bash("echo 1"));
  // Both are served as before, at once.
  EXPECT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  RunAtOnce(Python("print(1)"));
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
