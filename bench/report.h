#ifndef SANDGLASS_BENCH_REPORT_H_
#define SANDGLASS_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/stats.h"
#include "bench/tables.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {

// With its interpreter started before the request, and without anything.
inline constexpr char kSandglassWarm[] = "Sandglass, warm";
inline constexpr char kSandglassCold[] = "Sandglass, cold";

// What the project promises of these figures: parts of bare `python3 -c`'s.
inline constexpr double kWarmMedian = 0.10;
inline constexpr double kWarmTail = 0.4;
inline constexpr double kWarmAim = 0.05;
inline constexpr absl::Duration kWallPrecision = absl::Milliseconds(20);

struct Row {
  std::string name;
  Summary time;
  // Why there are no figures; empty when there are.
  std::string problem;
};

struct WallReport {
  absl::Duration limit;
  Summary decided;
  Summary ended;
  Summary call;
  std::string problem;  // why there are no figures
};

// All that one run of the benchmark found.
struct Report {
  NamedFacts machine;
  std::vector<Row> rows;
  NamedSummaries phases;
  NamedSummaries steps;
  WallReport wall;
};

// Cold, Sandglass's p50 is at most bubblewrap's.
Verdict MeetsColdBar(const Report& report);
// Warm, its p50 is at most kWarmMedian of bare `python3 -c`'s p50, and its p99
// at most kWarmTail of the p99.
Verdict MeetsWarmBar(const Report& report);
// Both.
Verdict MeetsBar(const Report& report);
// The aim: its p50 is at most kWarmAim of bare's.
Verdict MeetsAim(const Report& report);
// Every program at its wall limit ended at most 20 ms late.
Verdict MeetsWallPrecision(const Report& report);

// For people, in Markdown.
std::string ToMarkdown(const Report& report);
// The same figures for programs; times in milliseconds.
nlohmann::ordered_json ToJson(const Report& report);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_REPORT_H_
