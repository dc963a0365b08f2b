#include "client/operator/status_sums.h"

#include <algorithm>
#include <map>

#include "client/base/exit_codes.h"

namespace sandglass::client {
namespace {

Counts InOrder(const std::map<std::string, uint64_t>& sums) {
  Counts counts;
  for (const auto& [name, count] : sums) {
    if (count > 0) counts.emplace_back(name, count);
  }
  std::stable_sort(
      counts.begin(), counts.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

}  // namespace

Counts RunsByOutcome(const v1::GetStatusResponse& status) {
  std::map<std::string, uint64_t> sums;
  for (const v1::RunCount& count : status.runs()) {
    sums[OutcomeName(count.outcome())] += count.runs();
  }
  return InOrder(sums);
}

Counts RunsByLanguage(const v1::GetStatusResponse& status) {
  std::map<std::string, uint64_t> sums;
  for (const v1::RunCount& count : status.runs()) {
    sums[count.language()] += count.runs();
  }
  return InOrder(sums);
}

Counts ErrorsByReason(const v1::GetStatusResponse& status) {
  std::map<std::string, uint64_t> sums;
  for (const v1::ErrorCount& count : status.errors()) {
    sums[count.reason().empty() ? count.code() : count.reason()] +=
        count.calls();
  }
  return InOrder(sums);
}

uint64_t SumOf(const Counts& counts) {
  uint64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

std::vector<PoolSum> PoolByKind(const v1::GetStatusResponse& status) {
  std::map<std::string, PoolSum> sums;
  for (const v1::PoolKind& pool : status.pool()) {
    PoolSum& sum = sums[pool.kind()];
    sum.kind = pool.kind();
    sum.ready += pool.idle();
    sum.target += pool.target();
    sum.hits += pool.hits();
    sum.misses += pool.misses();
    sum.fill_failures += pool.fill_failures();
  }
  std::vector<PoolSum> in_order;
  in_order.reserve(sums.size());
  for (auto& [kind, sum] : sums) in_order.push_back(std::move(sum));
  return in_order;
}

}  // namespace sandglass::client
