#include "bench/compare_languages.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/daemon_client.h"
#include "bench/language_programs.h"
#include "bench/machine.h"
#include "bench/rounds.h"
#include "bench/shared_root.h"

namespace sandglass::bench {
namespace {

class Comparison {
 public:
  Comparison(const LanguageOptions& options, std::string scratch,
             DaemonClient& client)
      : options_(options), scratch_(std::move(scratch)), client_(client) {}

  LanguageRow Measure(const LanguageProgram& program) {
    LanguageRow row = {.name = program.name, .bar = program.bar};
    row.problem = client_.WhyUnavailable(program.language);
    if (row.problem.empty()) row.problem = WhyNotBare(program);
    if (!row.problem.empty()) return row;
    const absl::Status status = RunRounds(program, row);
    if (!status.ok()) row.problem = std::string(status.message());
    return row;
  }

 private:
  // Each round runs both, in an order drawn anew.
  absl::Status RunRounds(const LanguageProgram& program, LanguageRow& row) {
    std::vector<absl::Duration> bare;
    std::vector<absl::Duration> ours;
    NamedSamples phases;
    NamedSamples steps;
    const int rounds =
        program.compiled ? (options_.rounds + 1) / 2 : options_.rounds;
    for (int round = 1 - kWarmUpRounds; round <= rounds; ++round) {
      const bool bare_first = random_() % 2 == 0;
      for (const bool now_bare : {bare_first, !bare_first}) {
        absl::SleepFor(absl::Milliseconds(options_.gap_ms));
        const absl::StatusOr<ProgramText> text =
            ReadProgram(options_.programs, program, ++runs_);
        if (!text.ok()) return text.status();
        if (now_bare) {
          const absl::StatusOr<absl::Duration> time =
              TimeBare(program, *text, scratch_);
          if (!time.ok()) return time.status();
          if (round > 0) bare.push_back(*time);
          continue;
        }
        const absl::StatusOr<RunSample> sample =
            client_.TimeRun(program.language, text->code, text->output);
        if (!sample.ok()) return sample.status();
        if (round <= 0) continue;
        ours.push_back(sample->call);
        phases.Add(sample->phases);
        steps.Add(sample->steps);
      }
      if (round > 0) Progress(program.name, round, rounds);
    }
    row.bare = Summarise(std::move(bare));
    row.ours = Summarise(std::move(ours));
    row.phases = phases.Summaries();
    row.steps = steps.Summaries();
    return absl::OkStatus();
  }

  const LanguageOptions& options_;
  const std::string scratch_;
  DaemonClient& client_;
  std::mt19937 random_{1};
  int runs_ = 0;
};

}  // namespace

absl::StatusOr<LanguageReport> CompareLanguages(
    const LanguageOptions& options) {
  // ORDER: before gRPC starts threads.
  const absl::StatusOr<SharedRoot> root = BuildSharedRoot(options.directory);
  if (!root.ok()) return root.status();
  absl::StatusOr<DaemonClient> client = DaemonClient::Connect(options.address);
  if (!client.ok()) return client.status();

  LanguageReport report;
  report.machine = DescribeMachine();
  const NamedFacts facts = client->FactsOfLanguages();
  report.machine.insert(report.machine.end(), facts.begin(), facts.end());
  report.machine.emplace_back("load from others", LoadFromOthers());

  Comparison comparison(options, root->scratch, *client);
  const CpuTicks start = ReadCpuTicks();
  for (const LanguageProgram& program : LanguagePrograms()) {
    report.rows.push_back(comparison.Measure(program));
  }
  const CpuTicks end = ReadCpuTicks();
  report.machine.emplace_back("stolen by the host during the run",
                              StolenBetween(start, end));
  report.machine.emplace_back(
      "run", absl::StrFormat("interleaved, %d ms of rest before each run",
                             options.gap_ms));
  return report;
}

}  // namespace sandglass::bench
