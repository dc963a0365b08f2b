#ifndef SANDGLASS_BENCH_LANGUAGE_REPORT_H_
#define SANDGLASS_BENCH_LANGUAGE_REPORT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/stats.h"
#include "bench/tables.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {

// What is promised of a language: its p50 through the daemon is at most
// `factor` times the bare one, and `extra`.
struct Bar {
  double factor = 1;
  absl::Duration extra;
};

struct LanguageRow {
  std::string name;
  Bar bar;
  Summary bare;
  Summary ours;
  NamedSummaries phases;  // of ours
  NamedSummaries steps;
  std::string problem;  // why there are no figures; empty when there are
};

// All that one run of the benchmark found about languages.
struct LanguageReport {
  NamedFacts machine;
  std::vector<LanguageRow> rows;
};

// The highest p50 that keeps the promise.
absl::Duration HighestAllowed(const LanguageRow& row);
// nullopt when there are no figures.
Verdict MeetsBar(const LanguageRow& row);
// All languages together. One that misses its bar decides; else one that could
// not be judged leaves this open.
Verdict MeetsBar(const LanguageReport& report);

// For people, in Markdown.
std::string ToMarkdown(const LanguageReport& report);
// The same figures for programs; times in milliseconds.
nlohmann::ordered_json ToJson(const LanguageReport& report);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_LANGUAGE_REPORT_H_
