#ifndef SANDGLASS_BENCH_BARS_H_
#define SANDGLASS_BENCH_BARS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/report.h"

namespace sandglass::bench {

// The best runs a second with any number in flight by the bare command's best,
// on up to kFewProcessors and on more.
inline constexpr double kRateOfFew = 3;
inline constexpr double kRateOfMany = 2;
inline constexpr int kFewProcessors = 4;
// Runs a second with as many in flight as kCrowded processors would take one
// each, by the best.
inline constexpr double kCrowdedRate = 0.8;
inline constexpr int kCrowded = 8;  // of each processor
// Of one caller that doesn't rest, p50 by bare's.
inline constexpr double kWithoutRest = 0.12;
// Processor time of a run with many in flight.
inline constexpr absl::Duration kRunCpu = absl::Microseconds(3500);
// p99 at 64 in flight, by 64 / (the best runs a second).
inline constexpr double kQueueTail = 3;
inline constexpr double kIdleMiB = 3;
inline constexpr size_t kIdleJails = 200;
// Processor time of a program under seccomp and Landlock by that without.
inline constexpr double kLayersCost = 1.05;
// A session's creation with its first run, by a stateless warm run.
inline constexpr double kSessionStart = 3;
// Sessions that are asked for at once, a thousand where the daemon may have as
// many files open, until each has had a first result.
inline constexpr absl::Duration kBurst = absl::Seconds(3);
// What rules, redaction and audit add to the p50 of a trivial program.
inline constexpr absl::Duration kRulesCost = absl::Microseconds(300);
// Libraries: the first use of a set by the tool's own time, a later use by
// none, and bytes a second through the proxy by those of the same client
// without.
inline constexpr double kFirstInstall = 1.3;
inline constexpr double kSecondUse = 1.05;
inline constexpr double kProxyRate = 0.5;
// At 10 x what the daemon can do: p99 of calls until they were refused.
inline constexpr absl::Duration kRefusedWithin = absl::Milliseconds(50);
// So much of the factor must really have been offered.
inline constexpr double kOfTheFactor = 0.98;
inline constexpr absl::Duration kWallPrecision = absl::Milliseconds(20);

// One promise and what was found of it: it is kept when `value` is at most
// `limit`, or at least that.
struct BarLine {
  std::string name;
  enum class Kind { kAtMost, kAtLeast } kind = Kind::kAtMost;
  double limit = 0;
  std::optional<double> value;  // absent: a figure is missing
  std::string numbers;          // both figures, for people
};

// nullopt when a figure is missing.
Verdict IsMet(const BarLine& line);
// All together. One that is missed decides; else one that could not be judged
// leaves this open, as having none does.
Verdict AreMet(const std::vector<BarLine>& lines);

// Every promise about what the report was asked for.
std::vector<BarLine> Judge(const Report& report);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_BARS_H_
