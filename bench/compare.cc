#include "bench/compare.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/contenders.h"
#include "bench/daemon_client.h"
#include "bench/machine.h"
#include "bench/rounds.h"
#include "bench/shared_root.h"

namespace sandglass::bench {
namespace {

constexpr absl::Duration kWallLimit = absl::Milliseconds(200);

// One round runs each contender once. The order within a round is drawn anew
// each time, so that nobody always runs behind the same neighbour, whose
// namespaces the kernel may still be tearing down.
void RunRounds(const CompareOptions& options,
               std::vector<Contender>& contenders, NamedSamples& phases,
               NamedSamples& steps) {
  std::vector<Contender*> order;
  for (Contender& contender : contenders) {
    if (contender.missing.empty() && contender.failure.empty()) {
      order.push_back(&contender);
    }
  }
  std::mt19937 random(1);
  for (int round = 1 - kWarmUpRounds; round <= options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (Contender* contender : order) {
      if (!contender->failure.empty()) continue;
      absl::SleepFor(absl::Milliseconds(options.gap_ms));
      const absl::StatusOr<absl::Duration> time = contender->run();
      if (!time.ok()) {
        contender->failure = std::string(time.status().message());
      } else if (round > 0) {
        contender->samples.push_back(*time);
      }
    }
    if (round > 0) {
      Progress("round", round, options.rounds);
    } else {
      phases.Clear();
      steps.Clear();
    }
  }
}

Contender OursWithoutPool(DaemonClient& client) {
  return {.name = kSandglassCold,
          .run = [&]() -> absl::StatusOr<absl::Duration> {
            const absl::StatusOr<RunSample> sample = client.TimePrint();
            if (!sample.ok()) return sample.status();
            return sample->call;
          }};
}

Contender Ours(DaemonClient& client, NamedSamples& phases,
               NamedSamples& steps) {
  return {.name = kSandglassWarm,
          .run = [&]() -> absl::StatusOr<absl::Duration> {
            const absl::StatusOr<RunSample> sample = client.TimePrint();
            if (!sample.ok()) return sample.status();
            phases.Add(sample->phases);
            steps.Add(sample->steps);
            return sample->call;
          }};
}

WallReport MeasureWallLimit(const CompareOptions& options,
                            DaemonClient& client) {
  WallReport report = {.limit = kWallLimit};
  std::vector<absl::Duration> decided;
  std::vector<absl::Duration> ended;
  std::vector<absl::Duration> call;
  for (int run = 1; run <= options.wall_runs; ++run) {
    const absl::StatusOr<WallSample> sample = client.TimeWallLimit(kWallLimit);
    if (!sample.ok()) {
      report.problem = std::string(sample.status().message());
      return report;
    }
    decided.push_back(sample->decided);
    ended.push_back(sample->ended);
    call.push_back(sample->call);
    Progress("wall limit", run, options.wall_runs);
  }
  report.decided = Summarise(std::move(decided));
  report.ended = Summarise(std::move(ended));
  report.call = Summarise(std::move(call));
  return report;
}

Row MakeRow(Contender& contender) {
  Row row = {.name = contender.name};
  row.problem = !contender.missing.empty()
                    ? contender.missing
                    : (!contender.failure.empty()
                           ? absl::StrCat("failed: ", contender.failure)
                           : "");
  if (row.problem.empty()) row.time = Summarise(std::move(contender.samples));
  return row;
}

void AddRows(std::vector<Contender>& contenders, Report& report) {
  for (Contender& contender : contenders) {
    report.rows.push_back(MakeRow(contender));
  }
}

}  // namespace

absl::StatusOr<Report> CompareJails(const CompareOptions& options) {
  Report report;
  // ORDER: before gRPC starts threads.
  const absl::StatusOr<SharedRoot> root = BuildSharedRoot(options.directory);
  if (!root.ok()) return root.status();
  absl::StatusOr<DaemonClient> client = DaemonClient::Connect(options.address);
  if (!client.ok()) return client.status();
  absl::StatusOr<DaemonClient> cold =
      DaemonClient::Connect(options.cold_address);
  if (!cold.ok()) return cold.status();
  const absl::StatusOr<std::vector<std::string>> env =
      client->ProgramEnvironment();
  if (!env.ok()) return env.status();

  report.machine = DescribeMachine();
  report.machine.insert(report.machine.end(), client->facts().begin(),
                        client->facts().end());
  report.machine.emplace_back("control groups", root->cgroup_layout);
  report.machine.emplace_back("load from others", LoadFromOthers());

  NamedSamples phases;
  NamedSamples steps;
  std::vector<Contender> contenders =
      MakeContenders({.root = *root, .env = *env, .prefix = options.prefix});
  contenders.push_back(OursWithoutPool(*cold));
  contenders.push_back(Ours(*client, phases, steps));
  const CpuTicks start = ReadCpuTicks();
  RunRounds(options, contenders, phases, steps);
  report.wall = MeasureWallLimit(options, *client);
  const CpuTicks end = ReadCpuTicks();

  report.machine.emplace_back("stolen by the host during the run",
                              StolenBetween(start, end));
  report.machine.emplace_back(
      "run", absl::StrFormat("%d rounds, %d ms of rest before each run",
                             options.rounds, options.gap_ms));
  AddRows(contenders, report);
  report.phases = phases.Summaries();
  report.steps = steps.Summaries();
  return report;
}

}  // namespace sandglass::bench
