#include "bench/bars.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/sessions_report.h"

namespace sandglass::bench {
namespace {

constexpr char kTrivial[] = "python";
constexpr double kMiB = 1 << 20;
constexpr char kLean[] = "python-lean";

// The row if it was asked for, with figures or without.
const Row* FindRow(const Report& report, const std::string& program,
                   const std::string& contender, int in_flight) {
  for (const Row& row : report.rows) {
    if (row.program == program && row.contender == contender &&
        row.in_flight == in_flight) {
      return &row;
    }
  }
  return nullptr;
}

bool HasFigures(const Row* row) { return row != nullptr && row->time.n > 0; }

// The part that `ours` is of `of`, less what comes on top.
void FillRatio(absl::Duration ours, absl::Duration of, absl::Duration extra,
               BarLine& line) {
  line.value = absl::FDivDuration(ours - extra, of);
  line.numbers = absl::StrCat(Ms(ours), " against ", Ms(of), " ms");
}

void JudgeProgram(const Report& report, const std::string& program,
                  const Bar& bar, std::vector<BarLine>& lines) {
  const Row* bare = FindRow(report, program, kBare, 0);
  const Row* ours = FindRow(report, program, kSandglassWarm, 0);
  if (ours == nullptr) return;
  const bool both = HasFigures(bare) && HasFigures(ours);
  if (bar.median.has_value()) {
    BarLine& line = lines.emplace_back();
    line.name = absl::StrCat(program, ": p50 by bare's");
    if (bar.extra > absl::ZeroDuration()) {
      absl::StrAppendFormat(&line.name, ", less %g ms",
                            Milliseconds(bar.extra));
    }
    line.limit = *bar.median;
    if (both) FillRatio(ours->time.p50, bare->time.p50, bar.extra, line);
  }
  if (bar.tail.has_value()) {
    BarLine& line = lines.emplace_back();
    line.name = absl::StrCat(program, ": p99 by bare's");
    line.limit = *bar.tail;
    if (both && HasTail(ours->time) && HasTail(bare->time)) {
      FillRatio(ours->time.p99, bare->time.p99, absl::ZeroDuration(), line);
    }
  }
}

void JudgeCold(const Report& report, std::vector<BarLine>& lines) {
  const Row* cold = FindRow(report, kTrivial, kSandglassCold, 0);
  const Row* bubblewrap = FindRow(report, kTrivial, kBubblewrap, 0);
  if (cold == nullptr || bubblewrap == nullptr) return;
  BarLine& line = lines.emplace_back();
  line.name = absl::StrCat(kTrivial, ": cold p50 by bubblewrap's");
  line.limit = 1;
  if (HasFigures(cold) && HasFigures(bubblewrap)) {
    FillRatio(cold->time.p50, bubblewrap->time.p50, absl::ZeroDuration(), line);
  }
}

void JudgeRules(const Report& report, std::vector<BarLine>& lines) {
  const Row* plain = FindRow(report, kTrivial, kSandglassWarm, 0);
  const Row* rules = FindRow(report, kTrivial, kSandglassRules, 0);
  if (plain == nullptr || rules == nullptr) return;
  BarLine& line = lines.emplace_back();
  line.name = absl::StrCat(kTrivial,
                           ": what rules, redaction and audit add to p50, ms");
  line.limit = Milliseconds(kRulesCost);
  if (HasFigures(plain) && HasFigures(rules)) {
    line.value = Milliseconds(rules->time.p50 - plain->time.p50);
    line.numbers =
        absl::StrFormat("%s against %s ms, %.2f of it", Ms(rules->time.p50),
                        Ms(plain->time.p50),
                        absl::FDivDuration(rules->time.p50, plain->time.p50));
  }
}

// The row of this contender with the most runs a second; nullptr when none made
// a run.
const Row* FindFastest(const Report& report, const std::string& contender) {
  const Row* fastest = nullptr;
  for (const Row& row : report.rows) {
    if (row.program != kTrivial || row.contender != contender ||
        row.in_flight == 0 || !HasFigures(&row) ||
        row.runs_per_second.value_or(0) <= 0) {
      continue;
    }
    if (fastest == nullptr ||
        *row.runs_per_second > *fastest->runs_per_second) {
      fastest = &row;
    }
  }
  return fastest;
}

bool HasLoop(const Report& report, const std::string& contender) {
  return std::any_of(report.rows.begin(), report.rows.end(),
                     [&](const Row& row) {
                       return row.program == kTrivial &&
                              row.contender == contender && row.in_flight > 0;
                     });
}

void FillRate(const Row& ours, const Row& of, BarLine& line) {
  line.value = *ours.runs_per_second / *of.runs_per_second;
  line.numbers = absl::StrFormat("%.0f with %d in flight against %.0f with %d",
                                 *ours.runs_per_second, ours.in_flight,
                                 *of.runs_per_second, of.in_flight);
}

void JudgeOneCaller(const Report& report, std::vector<BarLine>& lines) {
  const Row* bare = FindRow(report, kTrivial, kBare, 1);
  const Row* ours = FindRow(report, kTrivial, kSandglassWarm, 1);
  if (bare == nullptr || ours == nullptr) return;
  BarLine& line = lines.emplace_back();
  line.name =
      absl::StrCat(kTrivial, ": p50 of one caller without rest by bare's");
  line.limit = kWithoutRest;
  if (HasFigures(bare) && HasFigures(ours)) {
    FillRatio(ours->time.p50, bare->time.p50, absl::ZeroDuration(), line);
  }
}

void JudgeRates(const Report& report, std::vector<BarLine>& lines) {
  const Row* ours = FindFastest(report, kSandglassWarm);
  if (HasLoop(report, kBare)) {
    const Row* bare = FindFastest(report, kBare);
    BarLine& line = lines.emplace_back();
    line.name = absl::StrCat(kTrivial, ": the most runs/s by bare's");
    line.kind = BarLine::Kind::kAtLeast;
    line.limit = report.processors > kFewProcessors ? kRateOfMany : kRateOfFew;
    if (ours != nullptr && bare != nullptr) FillRate(*ours, *bare, line);
  }
  const int many = kCrowded * report.processors;
  const Row* crowded = FindRow(report, kTrivial, kSandglassWarm, many);
  if (crowded == nullptr) return;
  BarLine& line = lines.emplace_back();
  line.name =
      absl::StrCat(kTrivial, ": runs/s, ", many, " in flight, by the most");
  line.kind = BarLine::Kind::kAtLeast;
  line.limit = kCrowdedRate;
  BarLine& cost = lines.emplace_back();
  cost.name = absl::StrCat(kTrivial, ": processor time of a run, ", many,
                           " in flight, ms");
  cost.limit = Milliseconds(kRunCpu);
  if (!HasFigures(crowded)) return;
  if (crowded->runs_per_second && ours != nullptr) {
    FillRate(*crowded, *ours, lines.end()[-2]);
  }
  if (crowded->cpu) {
    cost.value = Milliseconds(*crowded->cpu);
    cost.numbers = absl::StrCat(Ms(*crowded->cpu), " ms");
  }
}

void JudgeQueue(const Report& report, std::vector<BarLine>& lines) {
  constexpr int kQueued = 64;
  const Row* max = FindRow(report, kTrivial, kSandglassWarm, kQueued);
  if (max == nullptr) return;
  const Row* fastest = FindFastest(report, kSandglassWarm);
  BarLine& line = lines.emplace_back();
  line.name = absl::StrCat(kTrivial, ": p99, ", kQueued, " in flight, by ",
                           kQueued, " / (the most runs/s)");
  line.limit = kQueueTail;
  if (fastest != nullptr && HasFigures(max) && HasTail(max->time)) {
    FillRatio(max->time.p99, absl::Seconds(kQueued / *fastest->runs_per_second),
              absl::ZeroDuration(), line);
  }
  BarLine& refused = lines.emplace_back();
  refused.name =
      absl::StrCat(kTrivial, ": failed runs, ", kQueued, " in flight");
  if (HasFigures(max)) {
    refused.value = static_cast<double>(max->failed);
    refused.numbers =
        absl::StrFormat("%d of %d", max->failed, max->time.n + max->failed);
  }
}

const IdleJails* FindLean(const std::vector<IdleJails>& jails) {
  const auto found =
      std::find_if(jails.begin(), jails.end(),
                   [](const IdleJails& kind) { return kind.kind == kLean; });
  return found == jails.end() ? nullptr : &*found;
}

BarLine IdleLine(const std::string& where, const IdleJails* lean) {
  BarLine line;
  line.name = absl::StrCat("an idle jail with Python, MiB, ", where);
  line.limit = kIdleMiB;
  if (lean != nullptr) {
    line.value = lean->total() / kMiB;
    line.numbers = absl::StrFormat(
        "%.2f PSS + %.2f kernel + %.2f tmpfs, of %d jails", lean->pss / kMiB,
        lean->kernel / kMiB, lean->tmpfs / kMiB, lean->count);
  }
  return line;
}

void JudgeMemory(const MemoryReport& memory, std::vector<BarLine>& lines) {
  lines.push_back(IdleLine("in the default pool", FindLean(memory.idle)));
  if (!memory.crowd.has_value()) return;
  const Crowd& crowd = *memory.crowd;
  lines.push_back(IdleLine(
      "in a crowd", crowd.problem.empty() ? FindLean(crowd.jails) : nullptr));
  BarLine& many = lines.emplace_back();
  many.name = "idle jails with Python at once";
  many.kind = BarLine::Kind::kAtLeast;
  many.limit = kIdleJails;
  BarLine& left = lines.emplace_back();
  left.name = "processes of these after the daemon's end";
  const IdleJails* lean = FindLean(crowd.jails);
  if (!crowd.problem.empty() || lean == nullptr) return;
  // A crowd in which nothing can run is none.
  lines[lines.size() - 2].value =
      crowd.runs ? static_cast<double>(lean->count) : 0;
  lines[lines.size() - 2].numbers = absl::StrFormat(
      "%d, %.0f MiB in all; a program %s meanwhile", lean->count,
      static_cast<double>(crowd.group_bytes) / kMiB,
      crowd.runs ? "ran" : "did not run");
  left.value = static_cast<double>(crowd.left);
  left.numbers = absl::StrCat(crowd.left);
}

void JudgeWall(const WallReport& wall, std::vector<BarLine>& lines) {
  BarLine& line = lines.emplace_back();
  line.name = "ends of programs after their wall limit, ms, the latest";
  line.limit = Milliseconds(kWallPrecision);
  if (wall.problem.empty() && wall.ended.n > 0) {
    line.value = Milliseconds(wall.ended.max);
    line.numbers = absl::StrFormat("%s ms", Ms(wall.ended.max));
  }
}

void JudgeLayers(const LayersReport& layers, std::vector<BarLine>& lines) {
  const auto find = [&layers](const char* name) {
    return std::find_if(layers.programs.begin(), layers.programs.end(),
                        [name](const LayersRow& row) {
                          return row.program == kLayersJudged &&
                                 row.layers == name;
                        });
  };
  BarLine& line = lines.emplace_back();
  line.name = absl::StrCat(kLayersJudged,
                           ": processor time, seccomp and Landlock by neither");
  line.limit = kLayersCost;
  const auto none = find(kNoLayer);
  const auto both = find(kBothLayers);
  if (none == layers.programs.end() || both == layers.programs.end()) return;
  FillRatio(both->cpu.p50, none->cpu.p50, absl::ZeroDuration(), line);
}

void JudgeSessions(const SessionsReport& sessions,
                   std::vector<BarLine>& lines) {
  BarLine& line = lines.emplace_back();
  line.name = "a session's creation and first run by a stateless warm run, p50";
  line.limit = kSessionStart;
  const SessionStep* warm = FindStep(sessions, kWarmRun);
  const SessionStep* first = FindStep(sessions, kCreateAndRun);
  if (!sessions.problem.empty() || warm == nullptr || first == nullptr) return;
  FillRatio(first->time.p50, warm->time.p50, absl::ZeroDuration(), line);
}

// A bar that nothing was found for is one that can't be judged.
void JudgeLibrariesRow(const std::vector<LibrariesRow>& rows, const char* name,
                       BarLine line, std::vector<BarLine>& lines) {
  absl::StrAppend(&line.name, ": ", name);
  for (const LibrariesRow& row : rows) {
    if (row.name != name || row.ours.n == 0) continue;
    line.value = row.ratio;
    line.numbers =
        absl::StrCat(Ms(row.ours.p50), " against ", Ms(row.base.p50), " ms");
  }
  lines.push_back(std::move(line));
}

void JudgeLibraries(const LibrariesReport& libraries,
                    std::vector<BarLine>& lines) {
  for (const char* set : {kSmallSet, kLargeSet, kNpmSet}) {
    JudgeLibrariesRow(libraries.installs, set,
                      {.name = "first install by the tool's own time",
                       .limit = kFirstInstall},
                      lines);
  }
  for (const char* set : {kSmallSet, kLargeSet}) {
    JudgeLibrariesRow(
        libraries.uses, set,
        {.name = "second use by no libraries, p50", .limit = kSecondUse},
        lines);
  }
  for (const char* way : {kByTunnel, kByHttp}) {
    JudgeLibrariesRow(libraries.transfers, way,
                      {.name = "proxy's bytes/s by those without",
                       .kind = BarLine::Kind::kAtLeast,
                       .limit = kProxyRate},
                      lines);
  }
}

void JudgeOverload(const OverloadReport& overload,
                   std::vector<BarLine>& lines) {
  BarLine wrong = {
      .name = "overload: calls that neither ran well nor were refused"};
  BarLine offered = {.name = "overload: calls/s by what the daemon can do",
                     .kind = BarLine::Kind::kAtLeast,
                     .limit = overload.factor * kOfTheFactor};
  BarLine late = {.name = "overload: p99 of calls until they were refused, ms",
                  .limit = absl::ToDoubleMilliseconds(kRefusedWithin)};
  if (overload.problem.empty() && overload.accepted.n > 0) {
    wrong.value = static_cast<double>(overload.wrong);
    wrong.numbers = absl::StrCat(overload.accepted.n, " accepted, ",
                                 overload.refused.n, " refused");
    if (overload.capacity > 0) {
      offered.value = overload.offered / overload.capacity;
      offered.numbers =
          absl::StrCat("for ", absl::FormatDuration(overload.time));
    }
    if (HasTail(overload.refused)) {
      late.value = absl::ToDoubleMilliseconds(overload.refused.p99);
      late.numbers = absl::StrCat("max ", Ms(overload.refused.max), " ms");
    }
  }
  lines.push_back(std::move(wrong));
  lines.push_back(std::move(offered));
  lines.push_back(std::move(late));
}

void JudgeBurst(const BurstReport& burst, std::vector<BarLine>& lines) {
  BarLine& line = lines.emplace_back();
  line.name = absl::StrCat(burst.wanted,
                           " sessions at once, each with a first result, s");
  line.limit = absl::ToDoubleSeconds(kBurst);
  BarLine& wrong = lines.emplace_back();
  wrong.name =
      absl::StrCat(burst.wanted, " sessions at once: those without a result");
  if (!burst.problem.empty()) return;
  wrong.value = static_cast<double>(burst.wrong);
  wrong.numbers = absl::StrCat(burst.wrong, " of ", burst.wanted);
  // Fewer sessions are made sooner.
  if (burst.wrong > 0) return;
  lines.end()[-2].value = absl::ToDoubleSeconds(burst.time);
  lines.end()[-2].numbers =
      absl::StrFormat("%.2f s", absl::ToDoubleSeconds(burst.time));
}

}  // namespace

Verdict IsMet(const BarLine& line) {
  if (!line.value.has_value()) return std::nullopt;
  return line.kind == BarLine::Kind::kAtMost ? *line.value <= line.limit
                                             : *line.value >= line.limit;
}

Verdict AreMet(const std::vector<BarLine>& lines) {
  if (lines.empty()) return std::nullopt;
  bool all_judged = true;
  for (const BarLine& line : lines) {
    const Verdict verdict = IsMet(line);
    if (verdict == Verdict(false)) return false;
    all_judged = all_judged && verdict.has_value();
  }
  if (!all_judged) return std::nullopt;
  return true;
}

std::vector<BarLine> Judge(const Report& report) {
  std::vector<BarLine> lines;
  for (const auto& [program, bar] : report.bars) {
    JudgeProgram(report, program, bar, lines);
  }
  JudgeCold(report, lines);
  JudgeRules(report, lines);
  JudgeOneCaller(report, lines);
  JudgeRates(report, lines);
  JudgeQueue(report, lines);
  if (report.memory.has_value()) JudgeMemory(*report.memory, lines);
  if (report.wall.has_value()) JudgeWall(*report.wall, lines);
  if (report.layers.has_value()) JudgeLayers(*report.layers, lines);
  if (report.sessions.has_value()) JudgeSessions(*report.sessions, lines);
  if (report.libraries.has_value()) JudgeLibraries(*report.libraries, lines);
  if (report.overload.has_value()) JudgeOverload(*report.overload, lines);
  if (report.burst.has_value()) JudgeBurst(*report.burst, lines);
  return lines;
}

}  // namespace sandglass::bench
