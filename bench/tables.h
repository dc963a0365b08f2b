#ifndef SANDGLASS_BENCH_TABLES_H_
#define SANDGLASS_BENCH_TABLES_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bench/stats.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

// Whether a promise was kept; nullopt when a figure it needs is missing.
using Verdict = std::optional<bool>;

// Names, each with a text of one line.
using NamedFacts = std::vector<std::pair<std::string, std::string>>;

using Cells = std::vector<std::string>;
// Markdown. The first column is left-aligned, the others right-aligned.
std::string Table(const std::vector<Cells>& lines);
// A table of mean, p50 and p99.
std::string StepsText(std::string_view title, const NamedSummaries& steps);
std::string MachineText(const NamedFacts& facts);
std::string VerdictText(Verdict verdict, std::string_view yes,
                        std::string_view no);

double Milliseconds(absl::Duration duration);
// As a cell of a table.
std::string Ms(absl::Duration duration);
std::string Micros(absl::Duration duration);
std::string RatioText(std::optional<double> ratio);

// In milliseconds; a microsecond is as fine as these figures are.
double Rounded(absl::Duration duration);
nlohmann::ordered_json SummaryJson(const Summary& summary);
nlohmann::ordered_json StepsJson(const NamedSummaries& steps);
nlohmann::ordered_json FactsJson(const NamedFacts& facts);
nlohmann::ordered_json NumberOrNull(std::optional<double> number);
nlohmann::ordered_json VerdictJson(Verdict verdict);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_TABLES_H_
