#include "bench/libraries_report.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {
namespace {

std::string Ratio(const LibrariesRow& row) {
  return row.ratio.has_value() ? absl::StrFormat("%.3f", *row.ratio) : "-";
}

void AddTimes(const char* what, const std::vector<LibrariesRow>& rows,
              std::vector<Cells>& lines) {
  for (const LibrariesRow& row : rows) {
    lines.push_back({absl::StrCat(what, row.name), absl::StrCat(row.ours.n),
                     Ms(row.base.p50), Ms(row.ours.p50), Ratio(row),
                     row.warm + row.base_warm > 0
                         ? absl::StrCat(row.base_warm, ", ", row.warm)
                         : "-"});
  }
}

std::string MiBPerSecond(absl::Duration time) {
  if (time <= absl::ZeroDuration()) return "-";
  return absl::StrFormat("%.0f", 1024 / absl::ToDoubleSeconds(time));
}

nlohmann::ordered_json RowsJson(const std::vector<LibrariesRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const LibrariesRow& row : rows) {
    json.push_back({{"name", row.name},
                    {"without", SummaryJson(row.base)},
                    {"sandglass", SummaryJson(row.ours)},
                    {"ratio", NumberOrNull(row.ratio)},
                    {"without_warm", row.base_warm},
                    {"warm", row.warm}});
  }
  return json;
}

}  // namespace

std::string LibrariesText(const LibrariesReport& libraries) {
  std::vector<Cells> times = {{"libraries", "n", "without p50 ms",
                               "sandglass p50 ms", "ratio", "warm"}};
  AddTimes("first install by the tool's own: ", libraries.installs, times);
  AddTimes("second use by none: ", libraries.uses, times);
  AddTimes("", libraries.parts, times);
  std::vector<Cells> rates = {{"1 GiB to a program, MiB/s of the p50", "n",
                               "straight", "by the proxy", "ratio"}};
  for (const LibrariesRow& row : libraries.transfers) {
    rates.push_back({row.name, absl::StrCat(row.ours.n),
                     MiBPerSecond(row.base.p50), MiBPerSecond(row.ours.p50),
                     Ratio(row)});
  }
  std::string text;
  if (times.size() > 1) absl::StrAppend(&text, "\n", Table(times));
  if (rates.size() > 1) absl::StrAppend(&text, "\n", Table(rates));
  if (!libraries.problem.empty()) {
    absl::StrAppend(&text, "\nno more figures: ", libraries.problem, "\n");
  }
  return text;
}

nlohmann::ordered_json LibrariesJson(const LibrariesReport& libraries) {
  nlohmann::ordered_json json = {{"installs", RowsJson(libraries.installs)},
                                 {"uses", RowsJson(libraries.uses)},
                                 {"parts", RowsJson(libraries.parts)},
                                 {"transfers", RowsJson(libraries.transfers)}};
  if (!libraries.problem.empty()) json["problem"] = libraries.problem;
  return json;
}

}  // namespace sandglass::bench
