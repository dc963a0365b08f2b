#ifndef SANDGLASS_BENCH_STATS_H_
#define SANDGLASS_BENCH_STATS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace sandglass::bench {

// What a list of samples says. Percentiles are by nearest rank: always a value
// that was measured.
struct Summary {
  size_t n = 0;
  absl::Duration p50;
  absl::Duration p90;
  absl::Duration p99;
  absl::Duration max;
  absl::Duration mean;
};

// All zero for no samples.
Summary Summarise(std::vector<absl::Duration> samples);

// The median of `of[i]` by `by[i]`, of lists of the same length; nullopt when
// they are empty or something took no time.
std::optional<double> MedianRatio(const std::vector<absl::Duration>& of,
                                  const std::vector<absl::Duration>& by);

// With fewer than 100 samples p99 is just the largest and judges nothing.
bool HasTail(const Summary& summary);

using NamedTimes = std::vector<std::pair<std::string, absl::Duration>>;
using NamedSummaries = std::vector<std::pair<std::string, Summary>>;

// Samples by name, in the order of first sight.
class NamedSamples {
 public:
  void Add(const NamedTimes& times);
  NamedSummaries Summaries() const;

 private:
  std::vector<std::pair<std::string, std::vector<absl::Duration>>> samples_;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_STATS_H_
