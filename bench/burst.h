#ifndef SANDGLASS_BENCH_BURST_H_
#define SANDGLASS_BENCH_BURST_H_

#include <cstddef>
#include <string>

#include "bench/burst_report.h"

namespace sandglass::bench {

struct BurstOptions {
  std::string address;
  size_t sessions = 0;
};

// Asks for so many sessions with a Python kernel at once, over eight
// connections, and runs `print(1)` in each as soon as it is there. Afterwards
// they are ended.
BurstReport MeasureBurst(const BurstOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_BURST_H_
