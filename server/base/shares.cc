#include "server/base/shares.h"

#include <algorithm>

namespace sandglass::server {

uint64_t Shares::held_by(const std::string& caller) const {
  const auto found = by_caller_.find(caller);
  return found == by_caller_.end() ? 0 : found->second;
}

Shares::Room Shares::RoomFor(const std::string& caller, uint64_t amount) const {
  if (held_ == 0 && options_.max > 0) return Room::kYes;
  const uint64_t own = held_by(caller);
  if (own > 0 && (own > options_.max_per_caller ||
                  amount > options_.max_per_caller - own)) {
    return Room::kCallerHasItsShare;
  }
  if (held_ <= options_.max && amount <= options_.max - held_) {
    return Room::kYes;
  }
  const uint64_t all = options_.max + options_.reserve;
  const uint64_t left = all > held_ ? all - held_ : 0;
  // No caller alone goes beyond what there is for all.
  const uint64_t max_own = std::min(left, options_.max);
  if (own <= max_own && amount <= max_own - own) return Room::kYes;
  return own > 0 && amount <= left ? Room::kCallerHasItsShare : Room::kNone;
}

void Shares::Acquire(const std::string& caller, uint64_t amount) {
  if (amount == 0) return;
  by_caller_[caller] += amount;
  held_ += amount;
}

void Shares::Release(const std::string& caller, uint64_t amount) {
  if (amount == 0) return;
  held_ -= amount;
  const auto found = by_caller_.find(caller);
  if ((found->second -= amount) == 0) by_caller_.erase(found);
}

SharesOptions WithReserveWithin(uint64_t bound) {
  const uint64_t reserve = bound > 1 ? (bound + 3) / 4 : 0;
  return {.max = bound - reserve, .reserve = reserve};
}

}  // namespace sandglass::server
