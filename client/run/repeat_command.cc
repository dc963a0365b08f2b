#include "client/run/repeat_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/exit_codes.h"
#include "client/connection/preparing_wait.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

// Three decimals are enough: that is a microsecond.
double Milliseconds(absl::Duration duration) {
  return std::round(absl::ToDoubleMicroseconds(duration)) / 1000;
}

struct Figures {
  absl::Duration p50, p99, min, max, mean;
  double runs_per_second = 0;
};

Figures Compute(const RepeatSummary& summary) {
  std::vector<absl::Duration> sorted = summary.times;
  std::sort(sorted.begin(), sorted.end());
  Figures figures;
  if (sorted.empty()) return figures;
  figures.p50 = Percentile(sorted, 50);
  figures.p99 = Percentile(sorted, 99);
  figures.min = sorted.front();
  figures.max = sorted.back();
  figures.mean =
      std::accumulate(sorted.begin(), sorted.end(), absl::ZeroDuration()) /
      static_cast<int64_t>(sorted.size());
  const double seconds = absl::ToDoubleSeconds(summary.total);
  figures.runs_per_second =
      seconds > 0 ? static_cast<double>(sorted.size()) / seconds : 0;
  return figures;
}

}  // namespace

absl::Duration Percentile(const std::vector<absl::Duration>& sorted,
                          double percent) {
  if (sorted.empty()) return absl::ZeroDuration();
  const double rank =
      std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  const size_t index = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

std::string SummaryJson(const RepeatSummary& summary) {
  const Figures figures = Compute(summary);
  const nlohmann::ordered_json json = {
      {"n", summary.times.size()},
      {"p50_ms", Milliseconds(figures.p50)},
      {"p99_ms", Milliseconds(figures.p99)},
      {"min_ms", Milliseconds(figures.min)},
      {"max_ms", Milliseconds(figures.max)},
      {"mean_ms", Milliseconds(figures.mean)},
      {"runs_per_s", std::round(figures.runs_per_second * 100) / 100},
      {"outcomes", summary.outcomes}};
  return absl::StrCat(json.dump(), "\n");
}

std::string SummaryText(const RepeatSummary& summary) {
  const Figures figures = Compute(summary);
  std::string text = absl::StrFormat(
      "%d runs: p50 %.3f ms, p99 %.3f ms, min %.3f ms, max %.3f ms, mean %.3f "
      "ms, %.1f runs/s;",
      summary.times.size(), Milliseconds(figures.p50),
      Milliseconds(figures.p99), Milliseconds(figures.min),
      Milliseconds(figures.max), Milliseconds(figures.mean),
      figures.runs_per_second);
  for (const auto& [name, count] : summary.outcomes) {
    absl::StrAppend(&text, " ", count, " ", name);
  }
  return absl::StrCat(text, "\n");
}

int RepeatCommand(const Daemon& daemon, const v1::RunCodeRequest& request,
                  const RunOptions& options, InterruptWatcher& interrupts) {
  RepeatSummary summary;
  int exit_code = kExitOk;
  auto start = std::chrono::steady_clock::now();
  PreparingWait wait(SayOnStderr, [&] { return interrupts.signal() != 0; });
  for (uint32_t i = 0; i < options.repeat; ++i) {
    v1::RunCodeResponse response;
    grpc::Status status;
    std::chrono::steady_clock::time_point before, after;
    do {
      grpc::ClientContext context;
      const InterruptWatcher::Scope scope(interrupts, context);
      before = std::chrono::steady_clock::now();
      status = daemon.stub->RunCode(&context, request, &response);
      after = std::chrono::steady_clock::now();
      // Waiting is no part of the figures.
      if (!status.ok()) start = after;
    } while (wait.Again(status));
    if (!status.ok() && interrupts.signal() != 0) {
      return kExitSignalBase + interrupts.signal();
    }
    if (!status.ok()) return FailCall(status, daemon);
    summary.times.push_back(absl::FromChrono(after - before));
    ++summary.outcomes[OutcomeName(response.outcome())];
    if (exit_code == kExitOk) exit_code = ExitCodeFor(response);
  }
  summary.total = absl::FromChrono(std::chrono::steady_clock::now() - start);
  const int printed = PrintText(options.json_summary ? SummaryJson(summary)
                                                     : SummaryText(summary));
  return printed != kExitOk ? printed : exit_code;
}

}  // namespace sandglass::client
