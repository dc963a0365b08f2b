#include "bench/compare.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/closed_loop.h"
#include "bench/rounds.h"
#include "bench/tally.h"
#include "tests/support/host/workloads.h"

namespace sandglass::bench {
namespace {

constexpr int kMinRounds = 6;
constexpr int kRareRounds = 4;  // what is no part of a bar runs in each fourth
constexpr int kManyInFlight = 8;
// In which the daemon makes the jails that take the place of those used.
constexpr absl::Duration kRefill = absl::Milliseconds(200);

// One of the contenders in a comparison.
struct Entry {
  Contender* contender;
  RowTally tally;
  std::optional<absl::Duration> cpu_before;
  std::optional<uint64_t> misses;  // of the daemon, so far
  bool rare = false;

  bool Usable() const { return tally.problem().empty(); }
  void StartCpu() {
    if (contender->cpu_so_far) cpu_before = contender->cpu_so_far();
  }
  void StartMisses() {
    if (contender->misses_so_far) misses = contender->misses_so_far();
  }
  // A run's own answer speaks of the jail of its program alone. The daemon is
  // asked after it, not before: it would be awake.
  void NoteMisses(absl::StatusOr<Sample>& sample) {
    if (!contender->misses_so_far) return;
    const auto before = std::exchange(misses, contender->misses_so_far());
    if (sample.ok()) sample->warm = WasWarm(sample->warm, before, misses);
  }
  void EndCpu() {
    if (!cpu_before.has_value()) return;
    if (const auto now = contender->cpu_so_far()) {
      tally.AddDaemonCpu(*now - *cpu_before);
    }
  }
};

bool IsOneOfABar(const Contender& contender) {
  return contender.name == kBare || contender.name == kSandglassWarm ||
         contender.name == kSandglassRules;
}

std::vector<Entry> MakeEntries(std::vector<Contender>& contenders,
                               const std::string& program, int in_flight) {
  std::vector<Entry> entries;
  entries.reserve(contenders.size());
  for (Contender& contender : contenders) {
    entries.push_back({.contender = &contender,
                       .tally = RowTally(contender, program, in_flight)});
  }
  return entries;
}

void AddRows(std::vector<Entry>& entries, Report& report) {
  for (Entry& entry : entries) {
    report.rows.push_back(std::move(entry.tally).Finish());
  }
}

// Texts of one program, never the same number twice.
class Texts {
 public:
  Texts(const std::string& programs, const Program& program)
      : programs_(programs), program_(program) {}
  absl::StatusOr<ProgramText> Next() {
    static std::atomic<int> number = 0;
    return ReadProgram(programs_, program_, ++number);
  }

 private:
  const std::string& programs_;
  const Program& program_;
};

absl::StatusOr<Sample> RunOne(const Contender& contender,
                              const Program& program, Texts& texts,
                              int worker) {
  const absl::StatusOr<ProgramText> text = texts.Next();
  if (!text.ok()) return text.status();
  return contender.run(program, *text, worker);
}

std::vector<Entry*> Shuffled(std::vector<Entry>& entries,
                             std::mt19937& random) {
  std::vector<Entry*> order;
  order.reserve(entries.size());
  for (Entry& entry : entries) order.push_back(&entry);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

void CompareRested(const Program& program, const std::string& programs,
                   std::vector<Contender>& contenders,
                   const RestedOptions& options, Report& report) {
  std::vector<Entry> entries = MakeEntries(contenders, program.name, 0);
  const bool trivial = &program == &Programs().front();
  if (program.beside_bare_alone) {
    std::erase_if(entries, [](const Entry& entry) {
      return entry.contender->name != kBare &&
             entry.contender->name != kSandglassWarm;
    });
  }
  for (Entry& entry : entries) {
    entry.rare = !trivial && !IsOneOfABar(*entry.contender);
    entry.StartCpu();
    entry.StartMisses();
  }
  Texts texts(programs, program);
  std::mt19937 random(1);
  const absl::Time end = absl::Now() + options.budget;
  const int warm_up = trivial && options.in_turn == 1 ? kWarmUpRounds : 1;
  const int rounds = (options.runs + options.in_turn - 1) / options.in_turn;
  for (int round = 1 - warm_up; round <= rounds; ++round) {
    if (round > kMinRounds && absl::Now() > end) break;
    for (Entry* entry : Shuffled(entries, random)) {
      if (!entry->Usable() || (entry->rare && round % kRareRounds != 0)) {
        continue;
      }
      for (int i = 0; i < options.in_turn && entry->Usable(); ++i) {
        absl::SleepFor(options.gap);
        absl::StatusOr<Sample> sample =
            RunOne(*entry->contender, program, texts, 0);
        entry->NoteMisses(sample);
        entry->tally.Add(sample, round > 0);
      }
    }
    if (round > 0) Progress(program.name, round, rounds);
  }
  absl::SleepFor(kRefill);
  for (Entry& entry : entries) entry.EndCpu();
  AddRows(entries, report);
}

void CompareLoops(const Program& program, const std::string& programs,
                  std::vector<Contender>& contenders,
                  const LoopRoundsOptions& options, Report& report) {
  std::vector<Entry> entries;
  for (const int in_flight : options.in_flight) {
    std::vector<Entry> more = MakeEntries(contenders, program.name, in_flight);
    entries.insert(entries.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }
  Texts texts(programs, program);
  std::mt19937 random(1);
  for (int round = 1; round <= options.rounds; ++round) {
    for (Entry* entry : Shuffled(entries, random)) {
      if (!entry->Usable()) continue;
      const int in_flight = entry->tally.in_flight();
      const absl::Duration window =
          options.window * (in_flight > kManyInFlight ? 2 : 1);
      entry->StartCpu();
      entry->tally.Add(RunLoop(
          {.in_flight = in_flight, .warm_up = window / 4, .window = window},
          [&](int worker) {
            return RunOne(*entry->contender, program, texts, worker);
          }));
      absl::SleepFor(kRefill);
      entry->EndCpu();
    }
    Progress(absl::StrCat(program.name, " in flight"), round, options.rounds);
  }
  AddRows(entries, report);
}

namespace {

using testing::Workload;

// Those that need nothing but their text, evenly spread.
std::vector<Workload> Choose(std::vector<Workload> all, int max) {
  std::erase_if(all, [](const Workload& workload) {
    const v1::RunCodeRequest& request = workload.request;
    return workload.expected_exit != 0 || request.args_size() > 0 ||
           request.files_size() > 0;
  });
  if (max <= 0 || all.size() <= static_cast<size_t>(max)) return all;
  std::vector<Workload> chosen;
  for (size_t i = 0; i < static_cast<size_t>(max); ++i) {
    chosen.push_back(all[i * all.size() / static_cast<size_t>(max)]);
  }
  return chosen;
}

// What is typed to run a program of this language: as the one of ours that has
// another text each time.
const Program* LikeOurs(const std::string& language) {
  for (const Program& program : Programs()) {
    if (program.language == language && !program.same_text) return &program;
  }
  return nullptr;
}

std::vector<Contender*> Pair(std::vector<Contender>& contenders) {
  std::vector<Contender*> pair;
  for (Contender& contender : contenders) {
    if (IsOneOfABar(contender)) pair.push_back(&contender);
  }
  return pair;
}

void CompareSet(const std::string& name, const std::vector<Workload>& set,
                const std::vector<Contender*>& pair, absl::Duration gap,
                Report& report) {
  std::vector<Entry> entries;
  for (Contender* contender : pair) {
    entries.push_back(
        {.contender = contender, .tally = RowTally(*contender, name, 0)});
    entries.back().StartCpu();
    entries.back().StartMisses();
  }
  std::mt19937 random(1);
  int done = 0;
  for (const Workload& workload : set) {
    const Program* program = LikeOurs(workload.request.language());
    if (program == nullptr) continue;
    Program plain = *program;
    plain.makes.clear();
    std::vector<std::pair<Entry*, absl::StatusOr<Sample>>> results;
    for (Entry* entry : Shuffled(entries, random)) {
      absl::SleepFor(gap);
      results.emplace_back(
          entry,
          entry->contender->run(plain, {.code = workload.request.code()}, 0));
      entry->NoteMisses(results.back().second);
    }
    const bool both =
        std::all_of(results.begin(), results.end(),
                    [](const auto& result) { return result.second.ok(); });
    for (auto& [entry, sample] : results) entry->tally.Add(sample, both);
    Progress(name, ++done, static_cast<int>(set.size()));
  }
  absl::SleepFor(kRefill);
  for (Entry& entry : entries) entry.EndCpu();
  AddRows(entries, report);
}

}  // namespace

void CompareWorkloads(const std::string& folder, int max,
                      std::vector<Contender>& contenders, absl::Duration gap,
                      Report& report) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".jsonl") {
      names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    // A file of another form, such as sessions, is none of programs.
    absl::StatusOr<std::vector<Workload>> all =
        testing::ReadWorkloads(folder, name);
    if (!all.ok()) continue;
    const std::vector<Workload> set = Choose(*std::move(all), max);
    if (!set.empty()) CompareSet(name, set, Pair(contenders), gap, report);
  }
}

}  // namespace sandglass::bench
