#include "server/pool/pool_targets.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace sandglass::server {
namespace {

// Far below where arithmetic on time points would overflow.
constexpr absl::Duration kLongestPeriod = absl::Hours(24 * 365);

// How many jails of this size the budget holds.
uint32_t Fits(uint64_t bytes, uint64_t budget) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  return bytes == 0 ? kMax
                    : static_cast<uint32_t>(std::min(kMax, budget / bytes));
}

uint32_t FloorOf(const Demand& demand, const PoolBounds& bounds) {
  return std::min(bounds.floor, demand.floor.value_or(bounds.floor));
}

}  // namespace

uint32_t TargetFor(const Demand& demand, const PoolBounds& bounds) {
  if (bounds.floor == 0) return 0;
  const bool used = demand.unused_for < bounds.idle_age;
  if (!used && !demand.always) return 0;
  const uint32_t floor = FloorOf(demand, bounds);
  const uint32_t wanted = used ? std::max(floor, demand.peak) : floor;
  return std::min({wanted, bounds.ceiling,
                   demand.ceiling.value_or(bounds.ceiling), bounds.max_idle,
                   Fits(demand.idle_bytes, bounds.memory_budget_bytes)});
}

std::vector<uint32_t> ShareTargets(const std::vector<Demand>& demands,
                                   const PoolBounds& bounds) {
  std::vector<size_t> order(demands.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](size_t i) { return demands[i].unused_for; });
  std::vector<uint32_t> wanted;
  wanted.reserve(demands.size());
  for (const Demand& demand : demands) {
    wanted.push_back(TargetFor(demand, bounds));
  }

  std::vector<uint32_t> targets(demands.size(), 0);
  uint32_t jails_left = bounds.max_idle;
  uint64_t bytes_left = bounds.memory_budget_bytes;
  const auto has_room = [&](size_t i, uint32_t up_to) {
    return jails_left > 0 && targets[i] < std::min(wanted[i], up_to) &&
           demands[i].idle_bytes <= bytes_left;
  };
  const auto give = [&](size_t i) {
    ++targets[i];
    --jails_left;
    bytes_left -= demands[i].idle_bytes;
  };
  // Gives one jail to each key in turn rather than all to the first; otherwise
  // two keys that are used alternately would take the whole budget from each
  // other each time.
  const auto share_floors = [&](bool always_only) {
    for (bool gave = true; gave;) {
      gave = false;
      for (const size_t i : order) {
        if ((always_only && !demands[i].always) ||
            !has_room(i, FloorOf(demands[i], bounds))) {
          continue;
        }
        give(i);
        gave = true;
      }
    }
  };
  share_floors(true);
  share_floors(false);
  while (true) {
    std::optional<size_t> next;
    const auto held = [&](size_t i) {
      return (targets[i] + uint64_t{1}) * demands[i].idle_bytes;
    };
    for (const size_t i : order) {
      if (has_room(i, bounds.ceiling) && (!next || held(i) < held(*next))) {
        next = i;
      }
    }
    if (!next) return targets;
    give(*next);
  }
}

DemandMeter::DemandMeter(absl::Duration memory, uint32_t max)
    : period_(absl::ToChronoNanoseconds(
          std::clamp(memory / 2, absl::Nanoseconds(1), kLongestPeriod))),
      max_(max) {}

void DemandMeter::Roll(MonotonicTime now) {
  const auto age = now - period_start_;
  if (age < period_) return;
  const bool next = age < 2 * period_;
  previous_ = next ? current_ : 0;
  current_ = 0;
  period_start_ = next ? period_start_ + period_ : now;
}

void DemandMeter::Record(MonotonicTime now, absl::Duration window) {
  takes_.push_back(now);
  while (takes_.size() > max_ ||
         absl::FromChrono(now - takes_.front()) > window) {
    takes_.pop_front();
    if (takes_.empty()) break;
  }
  Raise(now, static_cast<uint32_t>(takes_.size()));
}

void DemandMeter::Raise(MonotonicTime now, uint32_t peak) {
  Roll(now);
  current_ = std::max(current_, std::min(peak, max_));
}

uint32_t DemandMeter::Peak(MonotonicTime now) const {
  const auto age = now - period_start_;
  if (age < period_) return std::max(current_, previous_);
  return age < 2 * period_ ? current_ : 0;
}

void RecentTenants::Note(std::string_view tenant, MonotonicTime now) {
  if (!uses_[0].time || uses_[0].tenant != tenant) {
    std::swap(uses_[0], uses_[1]);
    uses_[0].tenant = tenant;
  }
  uses_[0].time = now;
}

absl::Duration RecentTenants::OthersSince(std::string_view tenant,
                                          MonotonicTime now) const {
  for (const Use& use : uses_) {
    if (use.time && use.tenant != tenant) {
      return absl::FromChrono(now - *use.time);
    }
  }
  return absl::InfiniteDuration();
}

uint32_t KeptOf(uint32_t target) { return std::max(1u, target / 4); }

absl::Duration BurstWindow(absl::Duration mean_fill) {
  return std::clamp(mean_fill, absl::Milliseconds(100), absl::Seconds(1));
}

absl::Duration NextBackoff(absl::Duration last) {
  return std::clamp(last * 2, absl::Seconds(1), absl::Seconds(30));
}

}  // namespace sandglass::server
