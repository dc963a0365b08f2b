#include "bench/language_report.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sandglass::bench {
namespace {

bool HasFigures(const LanguageRow& row) {
  return row.problem.empty() && row.bare.n > 0 && row.ours.n > 0;
}

std::optional<double> Ratio(const LanguageRow& row) {
  if (!HasFigures(row)) return std::nullopt;
  return absl::FDivDuration(row.ours.p50, row.bare.p50);
}

std::string BarText(const Bar& bar) {
  std::string text =
      bar.factor == 1 ? "bare" : absl::StrFormat("%.2f x bare", bar.factor);
  if (bar.extra > absl::ZeroDuration()) {
    absl::StrAppendFormat(&text, " + %g ms", Milliseconds(bar.extra));
  }
  return text;
}

std::string RowsText(const LanguageReport& report) {
  std::vector<Cells> lines = {{"one line printed by", "n", "bare p50",
                               "bare p99", "p50 ms", "p99 ms", "x bare",
                               "above ms", "bar", "at most ms", "verdict"}};
  std::string problems;
  for (const LanguageRow& row : report.rows) {
    if (!HasFigures(row)) {
      lines.push_back({row.name, "0", "-", "-", "-", "-", "-", "-",
                       BarText(row.bar), "-", "NOT JUDGED"});
      absl::StrAppend(&problems, "\nNOT JUDGED: ", row.name, ": ", row.problem,
                      "\n");
      continue;
    }
    lines.push_back(
        {row.name, absl::StrCat(row.ours.n), Ms(row.bare.p50), Ms(row.bare.p99),
         Ms(row.ours.p50), Ms(row.ours.p99), RatioText(Ratio(row)),
         absl::StrFormat("%+.2f", Milliseconds(row.ours.p50 - row.bare.p50)),
         BarText(row.bar), Ms(HighestAllowed(row)),
         VerdictText(MeetsBar(row), "PASS", "FAIL")});
  }
  return absl::StrCat(Table(lines), problems);
}

// One line a language, one column a phase; the median of each.
std::string PhasesText(const LanguageReport& report) {
  Cells titles = {"p50 of each phase, ms"};
  const auto column = [&titles](const std::string& name) {
    const auto found = std::find(titles.begin() + 1, titles.end(), name);
    if (found != titles.end()) {
      return static_cast<size_t>(found - titles.begin());
    }
    titles.push_back(name);
    return titles.size() - 1;
  };
  for (const LanguageRow& row : report.rows) {
    for (const auto& [name, time] : row.phases) column(name);
  }
  std::vector<Cells> lines = {titles};
  for (const LanguageRow& row : report.rows) {
    if (row.phases.empty()) continue;
    Cells cells(titles.size(), "-");
    cells[0] = row.name;
    for (const auto& [name, time] : row.phases) {
      cells[column(name)] = Ms(time.p50);
    }
    lines.push_back(std::move(cells));
  }
  return lines.size() > 1 ? absl::StrCat("\n", Table(lines)) : "";
}

}  // namespace

absl::Duration HighestAllowed(const LanguageRow& row) {
  return row.bare.p50 * row.bar.factor + row.bar.extra;
}

Verdict MeetsBar(const LanguageRow& row) {
  if (!HasFigures(row)) return std::nullopt;
  return row.ours.p50 <= HighestAllowed(row);
}

Verdict MeetsBar(const LanguageReport& report) {
  if (report.rows.empty()) return std::nullopt;
  bool all_judged = true;
  for (const LanguageRow& row : report.rows) {
    const Verdict verdict = MeetsBar(row);
    if (verdict == Verdict(false)) return false;
    all_judged = all_judged && verdict.has_value();
  }
  if (!all_judged) return std::nullopt;
  return true;
}

std::string ToMarkdown(const LanguageReport& report) {
  return absl::StrCat(
      MachineText(report.machine), "\n", RowsText(report),
      "\nLanguages: ", VerdictText(MeetsBar(report), "PASS", "FAIL"), "\n",
      PhasesText(report));
}

nlohmann::ordered_json ToJson(const LanguageReport& report) {
  nlohmann::ordered_json json = {
      {"machine", FactsJson(report.machine)},
      {"languages", nlohmann::ordered_json::array()}};
  for (const LanguageRow& row : report.rows) {
    nlohmann::ordered_json entry = {
        {"name", row.name},
        {"bare", SummaryJson(row.bare)},
        {"sandglass", SummaryJson(row.ours)},
        {"ratio_to_bare", NumberOrNull(Ratio(row))},
        {"bar",
         {{"factor", row.bar.factor}, {"extra_ms", Rounded(row.bar.extra)}}},
        {"meets_bar", VerdictJson(MeetsBar(row))},
        {"phases", StepsJson(row.phases)},
        {"setup_steps", StepsJson(row.steps)}};
    if (!row.problem.empty()) entry["problem"] = row.problem;
    json["languages"].push_back(std::move(entry));
  }
  json["meets"] = {{"bar", VerdictJson(MeetsBar(report))}};
  return json;
}

}  // namespace sandglass::bench
