#include "bench/report.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/contenders.h"
#include "bench/tables.h"

namespace sandglass::bench {
namespace {

// The row of that name if it has figures.
const Row* FindFigures(const Report& report, std::string_view name) {
  for (const Row& row : report.rows) {
    if (row.name == name && row.problem.empty() && row.time.n > 0) return &row;
  }
  return nullptr;
}

std::optional<double> Ratio(const Row& row, const Row* to) {
  if (to == nullptr || row.time.n == 0 || !row.problem.empty()) {
    return std::nullopt;
  }
  return absl::FDivDuration(row.time.p50, to->time.p50);
}

std::string RowsText(const Report& report) {
  const Row* bare = FindFigures(report, kBare);
  const Row* bubblewrap = FindFigures(report, kBubblewrap);
  std::vector<Cells> lines = {{"print(1) in a fresh Python", "n", "p50 ms",
                               "p90 ms", "p99 ms", "x bare", "x bubblewrap"}};
  std::string problems;
  for (const Row& row : report.rows) {
    if (!row.problem.empty() || row.time.n == 0) {
      lines.push_back({row.name, "0", "-", "-", "-", "-", "-"});
      absl::StrAppend(&problems, "\n", row.name,
                      " has no figures: ", row.problem, "\n");
      continue;
    }
    lines.push_back({row.name, absl::StrCat(row.time.n), Ms(row.time.p50),
                     Ms(row.time.p90), Ms(row.time.p99),
                     RatioText(Ratio(row, bare)),
                     RatioText(Ratio(row, bubblewrap))});
  }
  return absl::StrCat(Table(lines), problems);
}

std::string PromisesText(const Report& report) {
  const Row* ours = FindFigures(report, kSandglass);
  const Row* bare = FindFigures(report, kBare);
  const Row* file = FindFigures(report, kBareFile);
  const Row* bubblewrap = FindFigures(report, kBubblewrap);
  std::string text =
      absl::StrCat("Bar (no slower than bubblewrap): ",
                   VerdictText(MeetsBar(report), "PASS", "FAIL"));
  if (ours != nullptr && bubblewrap != nullptr) {
    absl::StrAppendFormat(&text, ", p50 %s against %s ms", Ms(ours->time.p50),
                          Ms(bubblewrap->time.p50));
  }
  absl::StrAppend(&text, "  \nAim (bare + ", Ms(kAimAboveBare),
                  " ms): ", VerdictText(MeetsAim(report), "met", "NOT MET"));
  if (ours != nullptr && bare != nullptr) {
    absl::StrAppendFormat(&text, ", %+.2f ms above `%s`",
                          Milliseconds(ours->time.p50 - bare->time.p50), kBare);
  }
  if (ours != nullptr && file != nullptr) {
    absl::StrAppendFormat(&text, ", %+.2f ms above `%s`",
                          Milliseconds(ours->time.p50 - file->time.p50),
                          kBareFile);
  }
  return text + "\n";
}

std::string WallText(const Report& report) {
  const WallReport& wall = report.wall;
  if (!wall.problem.empty() || wall.ended.n == 0) {
    return absl::StrCat("Wall limit: no figures: ", wall.problem, "\n");
  }
  std::vector<Cells> lines = {{absl::StrCat("late, ms, after a wall limit of ",
                                            absl::FormatDuration(wall.limit)),
                               "n", "p50", "p99", "max"}};
  for (const auto& [name, time] :
       {std::pair("decision to kill", &wall.decided),
        std::pair("end of the program", &wall.ended),
        std::pair("answer at the client, making the jail included",
                  &wall.call)}) {
    lines.push_back({name, absl::StrCat(time->n), Ms(time->p50), Ms(time->p99),
                     Ms(time->max)});
  }
  return absl::StrCat(
      Table(lines), "\nWall limit (the program ends within ",
      absl::FormatDuration(kWallPrecision), " of it on an idle machine): ",
      VerdictText(MeetsWallPrecision(report), "PASS", "FAIL"), "\n");
}

}  // namespace

Verdict MeetsBar(const Report& report) {
  const Row* ours = FindFigures(report, kSandglass);
  const Row* bubblewrap = FindFigures(report, kBubblewrap);
  if (ours == nullptr || bubblewrap == nullptr) return std::nullopt;
  return ours->time.p50 <= bubblewrap->time.p50;
}

Verdict MeetsAim(const Report& report) {
  const Row* ours = FindFigures(report, kSandglass);
  const Row* bare = FindFigures(report, kBare);
  if (ours == nullptr || bare == nullptr) return std::nullopt;
  return ours->time.p50 <= bare->time.p50 + kAimAboveBare;
}

Verdict MeetsWallPrecision(const Report& report) {
  if (!report.wall.problem.empty() || report.wall.ended.n == 0) {
    return std::nullopt;
  }
  return report.wall.ended.max <= kWallPrecision;
}

std::string ToMarkdown(const Report& report) {
  std::string text = absl::StrCat(MachineText(report.machine), "\n",
                                  RowsText(report), "\n", PromisesText(report));
  if (!report.phases.empty()) {
    absl::StrAppend(&text, "\n", StepsText("phase of a run", report.phases));
  }
  if (!report.steps.empty()) {
    absl::StrAppend(&text, "\n",
                    StepsText("step of making a jail", report.steps));
  }
  return absl::StrCat(text, "\n", WallText(report));
}

nlohmann::ordered_json ToJson(const Report& report) {
  nlohmann::ordered_json json;
  json["machine"] = FactsJson(report.machine);
  const Row* bare = FindFigures(report, kBare);
  const Row* bubblewrap = FindFigures(report, kBubblewrap);
  json["contenders"] = nlohmann::ordered_json::array();
  for (const Row& row : report.rows) {
    nlohmann::ordered_json entry = {{"name", row.name}};
    entry.update(SummaryJson(row.time));
    entry["ratio_to_bare"] = NumberOrNull(Ratio(row, bare));
    entry["ratio_to_bubblewrap"] = NumberOrNull(Ratio(row, bubblewrap));
    if (!row.problem.empty()) entry["problem"] = row.problem;
    json["contenders"].push_back(std::move(entry));
  }
  json["phases"] = StepsJson(report.phases);
  json["setup_steps"] = StepsJson(report.steps);
  const WallReport& wall = report.wall;
  json["wall_limit"] = {{"limit_ms", Rounded(wall.limit)},
                        {"promise_ms", Rounded(kWallPrecision)},
                        {"decided_late", SummaryJson(wall.decided)},
                        {"ended_late", SummaryJson(wall.ended)},
                        {"answered_late", SummaryJson(wall.call)}};
  if (!wall.problem.empty()) json["wall_limit"]["problem"] = wall.problem;
  json["meets"] = {{"bar", VerdictJson(MeetsBar(report))},
                   {"aim", VerdictJson(MeetsAim(report))},
                   {"wall_precision", VerdictJson(MeetsWallPrecision(report))}};
  return json;
}

}  // namespace sandglass::bench
