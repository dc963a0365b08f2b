#ifndef SANDGLASS_BENCH_REPORT_H_
#define SANDGLASS_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/stats.h"
#include "bench/tables.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {

inline constexpr char kSandglass[] = "Sandglass";
inline constexpr char kSandglassCold[] = "Sandglass, no jail ahead";

// What the project promises of these figures.
inline constexpr absl::Duration kAimAboveBare = absl::Microseconds(1500);
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

// The bar: Sandglass's p50 is at most bubblewrap's.
Verdict MeetsBar(const Report& report);
// The aim: Sandglass's p50 is at most bare `python3 -c` + 1.5 ms.
Verdict MeetsAim(const Report& report);
// Every program at its wall limit ended at most 20 ms late.
Verdict MeetsWallPrecision(const Report& report);

// For people, in Markdown.
std::string ToMarkdown(const Report& report);
// The same figures for programs; times in milliseconds.
nlohmann::ordered_json ToJson(const Report& report);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_REPORT_H_
