#include "bench/stats.h"

#include <algorithm>
#include <cstdint>

namespace sandglass::bench {
namespace {

constexpr size_t kTailSamples = 100;

// `sorted` is not empty, `percent` is 1 to 100.
absl::Duration Percentile(const std::vector<absl::Duration>& sorted,
                          size_t percent) {
  // Rounded up in whole numbers: 99 % of 200 must be rank 198, not 199.
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[rank - 1];
}

}  // namespace

Summary Summarise(std::vector<absl::Duration> samples) {
  Summary summary;
  summary.n = samples.size();
  if (samples.empty()) return summary;
  std::sort(samples.begin(), samples.end());
  summary.p50 = Percentile(samples, 50);
  summary.p90 = Percentile(samples, 90);
  summary.p99 = Percentile(samples, 99);
  summary.max = samples.back();
  absl::Duration sum;
  for (const absl::Duration sample : samples) sum += sample;
  summary.mean = sum / static_cast<int64_t>(samples.size());
  return summary;
}

std::optional<double> MedianRatio(const std::vector<absl::Duration>& of,
                                  const std::vector<absl::Duration>& by) {
  std::vector<double> ratios;
  for (size_t i = 0; i < of.size(); ++i) {
    if (by[i] <= absl::ZeroDuration()) return std::nullopt;
    ratios.push_back(absl::FDivDuration(of[i], by[i]));
  }
  if (ratios.empty()) return std::nullopt;
  std::sort(ratios.begin(), ratios.end());
  const size_t middle = ratios.size() / 2;
  return ratios.size() % 2 == 1 ? ratios[middle]
                                : (ratios[middle - 1] + ratios[middle]) / 2;
}

bool HasTail(const Summary& summary) { return summary.n >= kTailSamples; }

void NamedSamples::Add(const NamedTimes& times) {
  for (const auto& [name, time] : times) {
    auto found = std::find_if(
        samples_.begin(), samples_.end(),
        [&name = name](const auto& entry) { return entry.first == name; });
    if (found == samples_.end()) {
      found = samples_.insert(samples_.end(), {name, {}});
    }
    found->second.push_back(time);
  }
}

NamedSummaries NamedSamples::Summaries() const {
  NamedSummaries summaries;
  for (const auto& [name, times] : samples_) {
    summaries.emplace_back(name, Summarise(times));
  }
  return summaries;
}

}  // namespace sandglass::bench
