// Very many runs: what the daemon holds after all of them is what it held after
// the first ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/chaos/world.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/matchers.h"

namespace sandglass::testing {
namespace {

constexpr int kRunsInCi = 1000;
// From here on the promise is looked at; with fewer, caches still fill.
constexpr int kManyRuns = 50'000;
constexpr double kPromised = 1.05;
constexpr double kOfFewRuns = 1.3;
constexpr int kAtOnce = 8;
constexpr int kInABatch = 250;

int Runs() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* text = std::getenv("SANDGLASS_SOAK_RUNS");
  int runs = 0;
  return text != nullptr && absl::SimpleAtoi(text, &runs) && runs > kInABatch
             ? runs
             : kRunsInCi;
}

std::vector<v1::RunCodeRequest> Batch() {
  std::vector<v1::RunCodeRequest> requests;
  requests.reserve(kInABatch);
  for (int i = 0; i < kInABatch; ++i) {
    switch (i % 10) {
      case 0:
        requests.push_back(Program("ruby", "puts 1"));
        break;
      case 1:
        requests.push_back(Program("perl", "print 1"));
        break;
      case 2:
        requests.push_back(Program("javascript", "console.log(1)"));
        break;
      case 3:
      case 4:
      case 5:
        requests.push_back(Bash("echo 1"));
        break;
      default:
        requests.push_back(Python("print(1)"));
    }
  }
  return requests;
}

class Soak : public ::testing::Test {
 protected:
  void DoRuns(int runs) {
    Client& client = world_.daemon().client();
    for (int done = 0; done < runs; done += kInABatch) {
      for (const RunResult& result : client.RunAll(Batch(), kAtOnce)) {
        ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
      }
      TestSession session(client);
      ASSERT_THAT(session.Run("1 + 1"), OutcomeIs(v1::OUTCOME_OK));
    }
  }

  // Counts, and bytes of memory by process.
  std::map<std::string, double> Facts() {
    std::map<std::string, double> facts;
    for (const auto& [kind, count] : world_.Settled()) {
      // Of descriptors the sum of each process.
      facts[kind.substr(0, kind.find(','))] += count;
    }
    // Not PSS: what a process has to itself of what it shares depends on who
    // else runs on this host.
    for (const char* name : {"sandglassd", "sandglass-spawn", "sandglass-egres",
                             "python3", "ruby"}) {
      facts[absl::StrCat("memory of ", name)] =
          static_cast<double>(RssOf(world_.daemon(), name));
    }
    return facts;
  }

  ChaosWorld world_;
};

TEST_F(Soak, RunsLeaveNothingBehind) {
  const int runs = Runs();
  ASSERT_TRUE(world_.Start().ok());
  const absl::Time start = absl::Now();
  const int first = std::max(runs / 10, kInABatch);
  ASSERT_NO_FATAL_FAILURE(DoRuns(first));
  const std::map<std::string, double> before = Facts();
  ASSERT_NO_FATAL_FAILURE(DoRuns(runs - first));
  const std::map<std::string, double> after = Facts();
  std::cout << runs << " runs in " << absl::Now() - start << "; after " << first
            << " of them, after all:\n";
  for (const auto& [what, held] : after) {
    const auto it = before.find(what);
    const double had = it == before.end() ? 0 : it->second;
    std::cout << absl::StrCat("  ", what, ": ", had, ", ", held, "\n");
    if (absl::StartsWith(what, "memory of ")) {
      EXPECT_GT(had, 0) << what << " can't be told";
    }
    EXPECT_LE(held, had * (runs >= kManyRuns ? kPromised : kOfFewRuns)) << what;
  }
  const absl::Status stopped = world_.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped.message();
}

}  // namespace
}  // namespace sandglass::testing
