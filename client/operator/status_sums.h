#ifndef SANDGLASS_CLIENT_OPERATOR_STATUS_SUMS_H_
#define SANDGLASS_CLIENT_OPERATOR_STATUS_SUMS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sandglass/v1/operator.pb.h"

namespace sandglass::client {

// Sums over what a daemon reports about itself. They contain names as the
// daemon sent them.

// Names with the number of their occurrences, the most frequent first.
using Counts = std::vector<std::pair<std::string, uint64_t>>;

Counts RunsByOutcome(const v1::GetStatusResponse& status);
Counts RunsByLanguage(const v1::GetStatusResponse& status);
// Errors by reason, or by gRPC code if there is no reason.
Counts ErrorsByReason(const v1::GetStatusResponse& status);

uint64_t SumOf(const Counts& counts);

// The sum of the pools of one kind over all profiles.
struct PoolSum {
  std::string kind;
  uint64_t ready = 0;
  uint64_t target = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t fill_failures = 0;
};
// The sums of the pools, one for each kind.
std::vector<PoolSum> PoolByKind(const v1::GetStatusResponse& status);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_STATUS_SUMS_H_
