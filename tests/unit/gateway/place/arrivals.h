// The requests of a simulated cluster, and what an ideal one would make of
// them.
#ifndef SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_ARRIVALS_H_
#define SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_ARRIVALS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <vector>

namespace sandglass::gateway {

struct ClusterOptions {
  size_t nodes = 10;
  uint64_t slots = 8;  // of each node
  size_t replicas = 3;
  double load = 0.8;  // of all slots
  bool bursts = false;
  bool with_request_ids = false;
  double seconds = 20;  // of arrivals
  double warm_up = 4;   // of these, not counted
  double report_every = 0.2;
  double most_delay = 0.02;  // of a report
  uint64_t seed = 1;
  // A node that dies, and when.
  std::optional<double> death = std::nullopt;
  // Whether gateways notice that its connection broke.
  bool death_is_noticed = false;
};

// Requests as they come.
struct Arrival {
  double time = 0;
  double service = 0;  // seconds that it runs
};

// Of each request that counts, in seconds.
struct Times {
  std::vector<double> waits;   // until it started
  std::vector<double> totals;  // until it had ended

  void Add(double wait, double service) {
    waits.push_back(wait);
    totals.push_back(wait + service);
  }
};

// Nearest rank. Precondition: there are values.
inline double Percentile(std::vector<double> values, double part) {
  const size_t rank =
      static_cast<size_t>(std::ceil(part * static_cast<double>(values.size())));
  const size_t at = std::max<size_t>(rank, 1) - 1;
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(at),
                   values.end());
  return values[at];
}

// How long runs take: half of them less than 60 ms, one of a hundred more than
// 2 s, within 5 ms and 10 s.
inline double DrawService(std::mt19937_64& random) {
  std::lognormal_distribution<double> length(std::log(0.06), 1.6);
  return std::clamp(length(random), 0.005, 10.0);
}

inline double MeanService() {
  std::mt19937_64 random(7);
  constexpr int kDraws = 200'000;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += DrawService(random);
  return sum / kDraws;
}

// Poisson arrivals; or bursts as agents and evaluations send them: of one
// request mostly, of up to 64 at times, all within 20 ms.
inline std::vector<Arrival> DrawArrivals(const ClusterOptions& options) {
  std::mt19937_64 random(options.seed);
  std::uniform_real_distribution<double> part(0, 1);
  const auto burst_size = [&] {
    if (!options.bursts) return 1;
    return static_cast<int>(
        std::min(64.0, std::pow(1 - part(random), -1 / 1.5)));
  };
  double mean_burst = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) mean_burst += burst_size();
  mean_burst /= kDraws;
  const double slots = static_cast<double>(options.nodes * options.slots);
  const double rate = options.load * slots / MeanService() / mean_burst;
  std::exponential_distribution<double> gap(rate);
  std::vector<Arrival> arrivals;
  double time = gap(random);
  while (time < options.seconds) {
    for (int left = burst_size(); left > 0; --left) {
      const double late = options.bursts ? 0.02 * part(random) : 0;
      arrivals.push_back({time + late, DrawService(random)});
    }
    time += gap(random);
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.time < b.time; });
  return arrivals;
}

// All slots behind one queue, of which each takes the next as soon as it is
// free: no placement can do better without knowing how long runs take.
inline Times IdealTimes(const ClusterOptions& options,
                        const std::vector<Arrival>& arrivals) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (size_t i = 0; i < options.nodes * options.slots; ++i) free_at.push(0);
  Times times;
  for (const Arrival& arrival : arrivals) {
    const double start = std::max(free_at.top(), arrival.time);
    free_at.pop();
    free_at.push(start + arrival.service);
    if (arrival.time < options.warm_up) continue;
    times.Add(start - arrival.time, arrival.service);
  }
  return times;
}

}  // namespace sandglass::gateway

#endif  // SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_ARRIVALS_H_
