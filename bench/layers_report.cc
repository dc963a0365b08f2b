#include "bench/layers_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {
namespace {

// The row of the same program without layers comes first.
const LayersRow* Without(const LayersReport& layers, const LayersRow& row) {
  for (const LayersRow& other : layers.programs) {
    if (other.program == row.program && other.layers == kNoLayer) return &other;
  }
  return nullptr;
}

std::string Ratio(absl::Duration with, absl::Duration without) {
  return without > absl::ZeroDuration()
             ? absl::StrFormat("%.3f", absl::FDivDuration(with, without))
             : "-";
}

}  // namespace

std::string LayersText(const LayersReport& layers) {
  std::vector<Cells> lines = {{"program under layers of a jail", "layers", "n",
                               "CPU p50 ms", "x none", "p50 ms", "x none"}};
  for (const LayersRow& row : layers.programs) {
    const LayersRow* none = Without(layers, row);
    if (none == nullptr) continue;
    lines.push_back({row.program, row.layers, absl::StrCat(row.cpu.n),
                     Ms(row.cpu.p50), Ratio(row.cpu.p50, none->cpu.p50),
                     Ms(row.time.p50), Ratio(row.time.p50, none->time.p50)});
  }
  std::string text = absl::StrCat("\n", Table(lines));
  if (!layers.calls.empty()) {
    std::vector<Cells> calls = {{"single calls, p50, ns"}};
    for (const auto& [name, times] : layers.calls.front().second) {
      calls.push_back({name});
    }
    for (const auto& [name, times] : layers.calls) {
      calls[0].push_back(name);
      for (size_t i = 0; i < times.size() && i + 1 < calls.size(); ++i) {
        calls[i + 1].push_back(absl::StrFormat(
            "%.0f", absl::ToDoubleNanoseconds(times[i].second.p50)));
      }
    }
    absl::StrAppend(&text, "\n", Table(calls));
  }
  if (!layers.problem.empty()) {
    absl::StrAppend(&text, "\nno figures: ", layers.problem);
  }
  return text;
}

nlohmann::ordered_json LayersJson(const LayersReport& layers) {
  nlohmann::ordered_json json = {
      {"programs", nlohmann::ordered_json::array()},
      {"calls_ns", nlohmann::ordered_json::object()}};
  for (const LayersRow& row : layers.programs) {
    json["programs"].push_back({{"program", row.program},
                                {"layers", row.layers},
                                {"time", SummaryJson(row.time)},
                                {"cpu", SummaryJson(row.cpu)}});
  }
  for (const auto& [name, times] : layers.calls) {
    for (const auto& [call, summary] : times) {
      json["calls_ns"][name][call] = absl::ToDoubleNanoseconds(summary.p50);
    }
  }
  if (!layers.problem.empty()) json["problem"] = layers.problem;
  return json;
}

}  // namespace sandglass::bench
