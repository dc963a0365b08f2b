#ifndef SANDGLASS_BENCH_BURST_REPORT_H_
#define SANDGLASS_BENCH_BURST_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "bench/stats.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

// Sessions that are all asked for at the same moment, each with a first run.
struct BurstReport {
  size_t wanted = 0;
  absl::Duration time;  // from the first call to the last first result
  Summary created;      // from its call until a session was there
  Summary first;        // from then until its first result
  size_t wrong = 0;     // sessions without a right result
  std::string first_wrong;
  std::string problem;  // why there are no figures
};

std::string BurstText(const BurstReport& burst);
nlohmann::ordered_json BurstJson(const BurstReport& burst);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_BURST_REPORT_H_
