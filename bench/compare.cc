// Compares a cold Python run through the daemon with the same in other jails.
// bench/run.sh starts the daemon for it.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/contenders.h"
#include "bench/daemon_client.h"
#include "bench/machine.h"
#include "bench/report.h"
#include "bench/shared_root.h"

namespace sandglass::bench {
namespace {

constexpr int kWarmUpRounds = 3;
constexpr absl::Duration kWallLimit = absl::Milliseconds(200);
constexpr double kBusyPercent = 10;

struct Options {
  std::string address;
  std::string cold_address;
  std::string directory;
  std::string prefix;
  std::string json_file;
  int rounds = 200;
  int wall_runs = 50;
  int gap_ms = 10;
};

// Samples by name, in the order of first sight.
class NamedSamples {
 public:
  void Add(const std::vector<std::pair<std::string, absl::Duration>>& times) {
    for (const auto& [name, time] : times) {
      auto found = std::find_if(
          samples_.begin(), samples_.end(),
          [&name = name](const auto& entry) { return entry.first == name; });
      if (found == samples_.end()) {
        found = samples_.insert(samples_.end(), {name, {}});
      }
      found->second.push_back(time);
    }
  }
  NamedSummaries Summaries() const {
    NamedSummaries summaries;
    for (const auto& [name, times] : samples_) {
      summaries.emplace_back(name, Summarise(times));
    }
    return summaries;
  }
  void Clear() { samples_.clear(); }

 private:
  std::vector<std::pair<std::string, std::vector<absl::Duration>>> samples_;
};

void Progress(const char* what, int done, int of) {
  if (::isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "\r\033[K%s %d of %d%s", what, done, of,
                 done == of ? "\n" : "");
  } else if (done == of || done % std::max(1, of / 4) == 0) {
    std::fprintf(stderr, "%s %d of %d\n", what, done, of);
  }
}

// One round runs each contender once. The order within a round is drawn anew
// each time, so that nobody always runs behind the same neighbour, whose
// namespaces the kernel may still be tearing down.
void RunRounds(const Options& options, std::vector<Contender>& contenders,
               NamedSamples& phases, NamedSamples& steps) {
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
            const absl::StatusOr<PrintSample> sample = client.TimePrint();
            if (!sample.ok()) return sample.status();
            return sample->call;
          }};
}

Contender Ours(DaemonClient& client, NamedSamples& phases,
               NamedSamples& steps) {
  return {.name = kSandglass, .run = [&]() -> absl::StatusOr<absl::Duration> {
            const absl::StatusOr<PrintSample> sample = client.TimePrint();
            if (!sample.ok()) return sample.status();
            phases.Add(sample->phases);
            steps.Add(sample->steps);
            return sample->call;
          }};
}

WallReport MeasureWallLimit(const Options& options, DaemonClient& client) {
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

// What others do on the machine while nothing of ours runs.
std::string BusyBefore() {
  const CpuTicks start = ReadCpuTicks();
  absl::SleepFor(absl::Seconds(1));
  const CpuTicks end = ReadCpuTicks();
  const double busy = Percent(end.busy - start.busy, end.all - start.all);
  return absl::StrFormat(
      "%.0f %% of the processors in the second before%s", busy,
      busy > kBusyPercent ? ": NOT IDLE, these figures are worth little" : "");
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

absl::StatusOr<Report> Measure(const Options& options) {
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
  report.machine.emplace_back("load from others", BusyBefore());

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

  report.machine.emplace_back(
      "stolen by the host during the run",
      absl::StrFormat("%.1f %%",
                      Percent(end.stolen - start.stolen, end.all - start.all)));
  report.machine.emplace_back(
      "run", absl::StrFormat("%d rounds, %d ms of rest before each run",
                             options.rounds, options.gap_ms));
  AddRows(contenders, report);
  report.phases = phases.Summaries();
  report.steps = steps.Summaries();
  return report;
}

int Main(const Options& options) {
  const absl::StatusOr<Report> report = Measure(options);
  if (!report.ok()) {
    std::cerr << "sandglass-bench: " << report.status().message() << "\n";
    return 2;
  }
  std::cout << ToMarkdown(*report) << std::flush;
  if (!options.json_file.empty()) {
    std::ofstream file(options.json_file);
    file << ToJson(*report).dump(2) << "\n";
    file.close();
    if (!file) {
      std::cerr << "sandglass-bench: cannot write " << options.json_file
                << "\n";
      return 2;
    }
  }
  return MeetsBar(*report).value_or(false) ? 0 : 1;
}

}  // namespace
}  // namespace sandglass::bench

int main(int argc, char** argv) {
  sandglass::bench::Options options;
  CLI::App app(
      "Times print(1) in a fresh Python: through the daemon, bare, and in "
      "other jails. Exit code 0 when Sandglass's p50 is at most bubblewrap's.",
      "sandglass-bench");
  app.add_option("--address", options.address, "The daemon, as gRPC names it")
      ->required();
  app.add_option("--cold-address", options.cold_address,
                 "A daemon with a pool.floor of 0")
      ->required();
  app.add_option("--directory", options.directory,
                 "An empty directory to mount things in")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--prefix", options.prefix,
                 "Beginning of names of containers and control groups")
      ->required();
  app.add_option("--json", options.json_file, "Write the figures here too");
  app.add_option("-n,--rounds", options.rounds, "Runs of each contender")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--wall-runs", options.wall_runs,
                 "Runs that measure the wall limit")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--gap", options.gap_ms, "Rest before each run, milliseconds")
      ->check(CLI::Range(0, 10'000));
  CLI11_PARSE(app, argc, argv);
  return sandglass::bench::Main(options);
}
