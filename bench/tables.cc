#include "bench/tables.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {

double Milliseconds(absl::Duration duration) {
  return absl::ToDoubleMilliseconds(duration);
}

std::string Ms(absl::Duration duration) {
  return absl::StrFormat("%.2f", Milliseconds(duration));
}

std::string Micros(absl::Duration duration) {
  return absl::StrFormat("%.0f", absl::ToDoubleMicroseconds(duration));
}

std::string RatioText(std::optional<double> ratio) {
  return ratio.has_value() ? absl::StrFormat("%.2f", *ratio) : "-";
}

std::string Table(const std::vector<Cells>& lines) {
  std::vector<size_t> widths(lines[0].size(), 3);
  for (const Cells& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (size_t number = 0; number < lines.size(); ++number) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string padding(widths[i] - lines[number][i].size(), ' ');
      absl::StrAppend(&text, "| ", i == 0 ? "" : padding, lines[number][i],
                      i == 0 ? padding : "", " ");
    }
    absl::StrAppend(&text, "|\n");
    if (number > 0) continue;
    for (size_t i = 0; i < widths.size(); ++i) {
      absl::StrAppend(&text, "|", std::string(widths[i] + 1, '-'),
                      i == 0 ? "-" : ":");
    }
    absl::StrAppend(&text, "|\n");
  }
  return text;
}

std::string MachineText(const NamedFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    absl::StrAppend(&text, "- ", name, ": ", value, "\n");
  }
  return text;
}

std::string VerdictText(Verdict verdict, std::string_view yes,
                        std::string_view no) {
  if (!verdict.has_value()) return "NOT JUDGED";
  return std::string(*verdict ? yes : no);
}

std::string StepsText(std::string_view title, const NamedSummaries& steps) {
  std::vector<Cells> lines = {
      {std::string(title), "mean us", "p50 us", "p99 us"}};
  for (const auto& [name, time] : steps) {
    lines.push_back(
        {name, Micros(time.mean), Micros(time.p50), Micros(time.p99)});
  }
  return Table(lines);
}

double Rounded(absl::Duration duration) {
  return std::round(absl::ToDoubleMicroseconds(duration)) / 1000;
}

nlohmann::ordered_json SummaryJson(const Summary& summary) {
  return {
      {"n", summary.n},
      {"p50_ms", Rounded(summary.p50)},
      {"p90_ms", Rounded(summary.p90)},
      {"p99_ms", HasTail(summary) ? nlohmann::ordered_json(Rounded(summary.p99))
                                  : nlohmann::ordered_json(nullptr)},
      {"max_ms", Rounded(summary.max)},
      {"mean_ms", Rounded(summary.mean)}};
}

nlohmann::ordered_json StepsJson(const NamedSummaries& steps) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, time] : steps) json[name] = SummaryJson(time);
  return json;
}

nlohmann::ordered_json NumberOrNull(std::optional<double> number) {
  if (!number.has_value()) return nullptr;
  return std::round(*number * 1000) / 1000;
}

nlohmann::ordered_json VerdictJson(Verdict verdict) {
  if (!verdict.has_value()) return nullptr;
  return *verdict;
}

nlohmann::ordered_json FactsJson(const NamedFacts& facts) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : facts) json[name] = value;
  return json;
}

}  // namespace sandglass::bench
