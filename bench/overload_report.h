#ifndef SANDGLASS_BENCH_OVERLOAD_REPORT_H_
#define SANDGLASS_BENCH_OVERLOAD_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "bench/stats.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

// Runs that come, whatever becomes of them, so many times faster than the
// daemon can do them.
struct OverloadReport {
  double factor = 0;
  double capacity = 0;  // runs a second, measured just before
  double offered = 0;   // calls a second that were really made
  absl::Duration time;
  Summary accepted;  // runs that ended as they should
  Summary refused;   // calls that got RESOURCE_EXHAUSTED with a time to retry
  // Ends of any other kind, and the first of them in words.
  size_t wrong = 0;
  std::string first_wrong;
  std::string problem;  // why there are no figures
};

std::string OverloadText(const OverloadReport& overload);
nlohmann::ordered_json OverloadJson(const OverloadReport& overload);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_OVERLOAD_REPORT_H_
