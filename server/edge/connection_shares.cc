#include "server/edge/connection_shares.h"

#include <algorithm>

namespace sandglass::server {

std::optional<std::string> ConnectionShares::InTheWay(const std::string& caller,
                                                      bool is_root) const {
  const auto found = callers_.find(caller);
  const uint32_t own = found == callers_.end() ? 0 : found->second;
  const uint32_t free = all_ < max_ ? max_ - all_ : 0;
  if (own < free) return std::nullopt;
  if (is_root && own < kRootReserve) return std::nullopt;
  if (own > 0) return caller;
  const auto largest = std::max_element(
      callers_.begin(), callers_.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == callers_.end() ? caller : largest->first;
}

void ConnectionShares::Add(const std::string& caller) {
  ++callers_[caller];
  ++all_;
}

void ConnectionShares::Remove(const std::string& caller) {
  const auto found = callers_.find(caller);
  if (found == callers_.end()) return;
  --all_;
  if (--found->second == 0) callers_.erase(found);
}

}  // namespace sandglass::server
