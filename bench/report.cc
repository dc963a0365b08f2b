#include "bench/report.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/bars.h"
#include "bench/layers_report.h"
#include "bench/libraries_report.h"
#include "bench/sessions_report.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {
namespace {

constexpr int kFormat = 1;
constexpr double kMiB = 1 << 20;

std::string MiB(double bytes) { return absl::StrFormat("%.2f", bytes / kMiB); }

const Row* FindBare(const Report& report, const Row& row) {
  for (const Row& other : report.rows) {
    if (other.contender == kBare && other.program == row.program &&
        other.in_flight == row.in_flight && other.time.n > 0) {
      return &other;
    }
  }
  return nullptr;
}

std::optional<double> Ratio(const Report& report, const Row& row) {
  const Row* bare = FindBare(report, row);
  if (bare == nullptr || row.time.n == 0) return std::nullopt;
  return absl::FDivDuration(row.time.p50, bare->time.p50);
}

// With fewer samples it says no more than the largest.
std::string TailText(const Summary& time) {
  return HasTail(time) ? Ms(time.p99) : absl::StrCat("(", Ms(time.max), ")");
}

std::string CpuText(const std::optional<absl::Duration>& cpu) {
  return cpu.has_value() ? Ms(*cpu) : "-";
}

std::string ServedText(const Row& row) {
  return absl::StrJoin(row.served, "; ",
                       [](std::string* out, const auto& entry) {
                         absl::StrAppend(out, entry.second, " ", entry.first);
                       });
}

std::string WarmText(const Row& row) {
  return row.warm.has_value() ? absl::StrCat(*row.warm, "/", row.time.n) : "-";
}

std::string InFlightText(const Row& row) {
  return row.in_flight == 0 ? "1, rested" : absl::StrCat(row.in_flight);
}

std::string RowsText(const Report& report) {
  std::vector<Cells> lines = {{"program", "contender", "in flight", "n",
                               "p50 ms", "p99 ms", "x bare", "runs/s", "CPU ms",
                               "client CPU", "failed", "warm", "served by"}};
  std::string problems;
  for (const Row& row : report.rows) {
    if (!row.problem.empty()) {
      absl::StrAppend(&problems, "\n", row.program, ", ", row.contender, ", ",
                      InFlightText(row), " in flight: ", row.problem, "\n");
    }
    if (row.time.n == 0) continue;
    lines.push_back({row.program, row.contender, InFlightText(row),
                     absl::StrCat(row.time.n), Ms(row.time.p50),
                     TailText(row.time), RatioText(Ratio(report, row)),
                     row.runs_per_second.has_value()
                         ? absl::StrFormat("%.1f", *row.runs_per_second)
                         : "-",
                     CpuText(row.cpu), CpuText(row.client_cpu),
                     absl::StrCat(row.failed), WarmText(row), ServedText(row)});
  }
  if (lines.size() == 1) return problems;
  return absl::StrCat(Table(lines), problems);
}

std::string BarsText(const Report& report) {
  std::vector<Cells> lines = {{"bar", "found", "allowed", "figures", ""}};
  for (const BarLine& line : Judge(report)) {
    lines.push_back(
        {line.name,
         line.value.has_value() ? absl::StrFormat("%.3f", *line.value) : "-",
         absl::StrFormat(
             "%s %g",
             line.kind == BarLine::Kind::kAtMost ? "<=" : ">=", line.limit),
         line.numbers, VerdictText(IsMet(line), "PASS", "FAIL")});
  }
  return lines.size() > 1 ? absl::StrCat("\n", Table(lines)) : "";
}

// Phases of the contender's first row, which is the trivial program's.
std::string PhasesText(const Report& report, const std::string& contender) {
  for (const Row& row : report.rows) {
    if (row.phases.empty() || row.contender != contender) continue;
    std::string text = absl::StrCat(
        "\n", StepsText(absl::StrCat("phase of a run, ", row.program, ", ",
                                     row.contender),
                        row.phases));
    if (!row.steps.empty()) {
      absl::StrAppend(&text, "\n",
                      StepsText("step of making its jail", row.steps));
    }
    return text;
  }
  return "";
}

void AddJails(const char* where, const std::vector<IdleJails>& jails,
              std::vector<Cells>& lines) {
  for (const IdleJails& kind : jails) {
    lines.push_back({absl::StrCat(kind.kind, ", ", where),
                     absl::StrCat(kind.count), MiB(kind.pss), MiB(kind.kernel),
                     MiB(kind.tmpfs), MiB(kind.total())});
  }
}

std::string MemoryText(const MemoryReport& memory) {
  std::vector<Cells> lines = {{"an idle jail, MiB in the mean", "jails", "PSS",
                               "kernel", "tmpfs", "together"}};
  AddJails("default pool", memory.idle, lines);
  if (memory.crowd.has_value()) AddJails("crowd", memory.crowd->jails, lines);
  std::string text = absl::StrCat("\n", Table(lines));
  if (!memory.problem.empty()) {
    absl::StrAppend(&text, "\nno figures: ", memory.problem, "\n");
  }
  if (!memory.crowd.has_value()) return text;
  const Crowd& crowd = *memory.crowd;
  absl::StrAppendFormat(
      &text,
      "\nThe crowd's control group held %.0f MiB; with the daemon's end the "
      "host had %.0f MiB more.\n",
      static_cast<double>(crowd.group_bytes) / kMiB,
      static_cast<double>(crowd.freed_bytes) / kMiB);
  if (!crowd.problem.empty()) {
    absl::StrAppend(&text, "\nno crowd: ", crowd.problem, "\n");
  }
  return text;
}

std::string WallText(const WallReport& wall) {
  if (!wall.problem.empty() || wall.ended.n == 0) {
    return absl::StrCat("\nWall limit: no figures: ", wall.problem, "\n");
  }
  std::vector<Cells> lines = {{absl::StrCat("late, ms, after a wall limit of ",
                                            absl::FormatDuration(wall.limit)),
                               "n", "p50", "p99", "max"}};
  for (const auto& [name, time] :
       {std::pair("decision to kill", &wall.decided),
        std::pair("end of the program", &wall.ended),
        std::pair("answer at the client, making the jail included",
                  &wall.call)}) {
    lines.push_back({name, absl::StrCat(time->n), Ms(time->p50),
                     TailText(*time), Ms(time->max)});
  }
  return absl::StrCat("\n", Table(lines));
}

nlohmann::ordered_json DurationOrNull(
    const std::optional<absl::Duration>& duration) {
  if (!duration.has_value()) return nullptr;
  return Rounded(*duration);
}

nlohmann::ordered_json RowJson(const Report& report, const Row& row) {
  nlohmann::ordered_json json = {{"program", row.program},
                                 {"contender", row.contender},
                                 {"in_flight", std::max(1, row.in_flight)},
                                 {"rested", row.in_flight == 0}};
  json.update(SummaryJson(row.time));
  json["ratio_to_bare"] = NumberOrNull(Ratio(report, row));
  json["runs_per_second"] = NumberOrNull(row.runs_per_second);
  json["cpu_ms"] = DurationOrNull(row.cpu);
  json["client_cpu_ms"] = DurationOrNull(row.client_cpu);
  json["failed"] = row.failed;
  json["warm"] = row.warm.has_value() ? nlohmann::ordered_json(*row.warm)
                                      : nlohmann::ordered_json(nullptr);
  json["served"] = row.served;
  json["phases"] = StepsJson(row.phases);
  json["setup_steps"] = StepsJson(row.steps);
  if (!row.problem.empty()) json["problem"] = row.problem;
  return json;
}

nlohmann::ordered_json JailsJson(const std::vector<IdleJails>& jails) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const IdleJails& kind : jails) {
    json.push_back({{"kind", kind.kind},
                    {"jails", kind.count},
                    {"pss_bytes", static_cast<uint64_t>(kind.pss)},
                    {"kernel_bytes", static_cast<uint64_t>(kind.kernel)},
                    {"tmpfs_bytes", static_cast<uint64_t>(kind.tmpfs)}});
  }
  return json;
}

nlohmann::ordered_json MemoryJson(const MemoryReport& memory) {
  nlohmann::ordered_json json = {{"default_pool", JailsJson(memory.idle)}};
  if (!memory.problem.empty()) json["problem"] = memory.problem;
  if (!memory.crowd.has_value()) return json;
  const Crowd& crowd = *memory.crowd;
  json["crowd"] = {{"wanted", crowd.wanted},
                   {"jails", JailsJson(crowd.jails)},
                   {"group_bytes", crowd.group_bytes},
                   {"freed_bytes", crowd.freed_bytes},
                   {"runs", crowd.runs},
                   {"processes_left", crowd.left}};
  if (!crowd.problem.empty()) json["crowd"]["problem"] = crowd.problem;
  return json;
}

nlohmann::ordered_json WallJson(const WallReport& wall) {
  nlohmann::ordered_json json = {{"limit_ms", Rounded(wall.limit)},
                                 {"decided_late", SummaryJson(wall.decided)},
                                 {"ended_late", SummaryJson(wall.ended)},
                                 {"answered_late", SummaryJson(wall.call)}};
  if (!wall.problem.empty()) json["problem"] = wall.problem;
  return json;
}

}  // namespace

std::string ToMarkdown(const Report& report) {
  std::string text =
      absl::StrCat(MachineText(report.machine), "\n", RowsText(report));
  if (report.memory.has_value()) {
    absl::StrAppend(&text, MemoryText(*report.memory));
  }
  if (report.wall.has_value()) absl::StrAppend(&text, WallText(*report.wall));
  if (report.layers.has_value()) {
    absl::StrAppend(&text, LayersText(*report.layers));
  }
  if (report.sessions.has_value()) {
    absl::StrAppend(&text, SessionsText(*report.sessions));
  }
  if (report.libraries.has_value()) {
    absl::StrAppend(&text, LibrariesText(*report.libraries));
  }
  if (report.overload.has_value()) {
    absl::StrAppend(&text, OverloadText(*report.overload));
  }
  if (report.burst.has_value()) {
    absl::StrAppend(&text, BurstText(*report.burst));
  }
  return absl::StrCat(text, PhasesText(report, kSandglassWarm),
                      PhasesText(report, kSandglassRules), BarsText(report));
}

nlohmann::ordered_json ToJson(const Report& report) {
  nlohmann::ordered_json json = {{"format", kFormat},
                                 {"machine", FactsJson(report.machine)},
                                 {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : report.rows) {
    json["rows"].push_back(RowJson(report, row));
  }
  if (report.memory.has_value()) json["memory"] = MemoryJson(*report.memory);
  if (report.wall.has_value()) json["wall_limit"] = WallJson(*report.wall);
  if (report.layers.has_value()) json["layers"] = LayersJson(*report.layers);
  if (report.sessions.has_value()) {
    json["sessions"] = SessionsJson(*report.sessions);
  }
  if (report.libraries.has_value()) {
    json["libraries"] = LibrariesJson(*report.libraries);
  }
  if (report.overload.has_value()) {
    json["overload"] = OverloadJson(*report.overload);
  }
  if (report.burst.has_value()) json["burst"] = BurstJson(*report.burst);
  const std::vector<BarLine> lines = Judge(report);
  json["bars"] = nlohmann::ordered_json::array();
  for (const BarLine& line : lines) {
    json["bars"].push_back(
        {{"name", line.name},
         {"value", NumberOrNull(line.value)},
         {line.kind == BarLine::Kind::kAtMost ? "at_most" : "at_least",
          line.limit},
         {"figures", line.numbers},
         {"met", VerdictJson(IsMet(line))}});
  }
  json["all_met"] = VerdictJson(AreMet(lines));
  return json;
}

}  // namespace sandglass::bench
