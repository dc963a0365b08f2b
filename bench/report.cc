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
  std::vector<Cells> lines = {{"print(1) in Python", "n", "p50 ms", "p90 ms",
                               "p99 ms", "x bare", "x bubblewrap"}};
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
  const Row* warm = FindFigures(report, kSandglassWarm);
  const Row* cold = FindFigures(report, kSandglassCold);
  const Row* bare = FindFigures(report, kBare);
  const Row* bubblewrap = FindFigures(report, kBubblewrap);
  std::string text = absl::StrFormat(
      "Warm (p50 at most %.2f x, p99 at most %.2f x bare): %s", kWarmMedian,
      kWarmTail, VerdictText(MeetsWarmBar(report), "PASS", "FAIL"));
  if (warm != nullptr && bare != nullptr) {
    absl::StrAppendFormat(&text, ", p50 %.3f x and p99 %.3f x",
                          absl::FDivDuration(warm->time.p50, bare->time.p50),
                          absl::FDivDuration(warm->time.p99, bare->time.p99));
  }
  absl::StrAppendFormat(&text, "  \nAim (p50 at most %.2f x bare): %s",
                        kWarmAim,
                        VerdictText(MeetsAim(report), "met", "NOT MET"));
  absl::StrAppend(&text, "  \nCold (no slower than bubblewrap): ",
                  VerdictText(MeetsColdBar(report), "PASS", "FAIL"));
  if (cold != nullptr && bubblewrap != nullptr) {
    absl::StrAppendFormat(&text, ", p50 %s against %s ms", Ms(cold->time.p50),
                          Ms(bubblewrap->time.p50));
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

Verdict MeetsColdBar(const Report& report) {
  const Row* cold = FindFigures(report, kSandglassCold);
  const Row* bubblewrap = FindFigures(report, kBubblewrap);
  if (cold == nullptr || bubblewrap == nullptr) return std::nullopt;
  return cold->time.p50 <= bubblewrap->time.p50;
}

Verdict MeetsWarmBar(const Report& report) {
  const Row* warm = FindFigures(report, kSandglassWarm);
  const Row* bare = FindFigures(report, kBare);
  if (warm == nullptr || bare == nullptr) return std::nullopt;
  return warm->time.p50 <= kWarmMedian * bare->time.p50 &&
         warm->time.p99 <= kWarmTail * bare->time.p99;
}

Verdict MeetsBar(const Report& report) {
  const Verdict cold = MeetsColdBar(report);
  const Verdict warm = MeetsWarmBar(report);
  if (!cold.has_value() || !warm.has_value()) return std::nullopt;
  return *cold && *warm;
}

Verdict MeetsAim(const Report& report) {
  const Row* warm = FindFigures(report, kSandglassWarm);
  const Row* bare = FindFigures(report, kBare);
  if (warm == nullptr || bare == nullptr) return std::nullopt;
  return warm->time.p50 <= kWarmAim * bare->time.p50;
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
  json["meets"] = {{"warm_bar", VerdictJson(MeetsWarmBar(report))},
                   {"cold_bar", VerdictJson(MeetsColdBar(report))},
                   {"aim", VerdictJson(MeetsAim(report))},
                   {"wall_precision", VerdictJson(MeetsWallPrecision(report))}};
  return json;
}

}  // namespace sandglass::bench
