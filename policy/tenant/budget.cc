#include "policy/tenant/budget.h"

#include <algorithm>

namespace sandglass::policy {

std::string_view ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kRuns:
      return "runs";
    case Resource::kCpuSeconds:
      return "cpu_seconds";
    case Resource::kGbSeconds:
      return "gb_seconds";
    case Resource::kEgressBytes:
      return "egress_bytes";
  }
  return "";
}

std::string_view BudgetSpanName(BudgetSpan span) {
  return span == BudgetSpan::kHour ? "hour" : "day";
}

Amounts& Amounts::operator+=(const Amounts& other) {
  for (size_t i = 0; i < kResources; ++i) values_[i] += other.values_[i];
  return *this;
}

Budget::Budget() {
  for (size_t i = 0; i < kResources; ++i) {
    most[static_cast<Resource>(i)] = std::numeric_limits<double>::infinity();
  }
}

SlidingWindow::SlidingWindow(absl::Duration length, const Kept& kept,
                             absl::Time then)
    : step_(length / kSteps),
      into_newest_(std::clamp(kept.into_newest, absl::ZeroDuration(), step_)),
      last_(then) {
  for (size_t i = 0; i < std::min(kept.steps.size(), steps_.size()); ++i) {
    steps_[(newest_ + steps_.size() - i) % steps_.size()] = kept.steps[i];
  }
}

void SlidingWindow::Advance(absl::Time now) {
  if (last_ && now > *last_) into_newest_ += now - *last_;
  last_ = now;
  for (size_t i = 0; into_newest_ >= step_; ++i) {
    if (i == steps_.size()) {  // all steps are new already
      into_newest_ = absl::ZeroDuration();
      return;
    }
    into_newest_ -= step_;
    newest_ = (newest_ + 1) % steps_.size();
    steps_[newest_] = Amounts();
  }
}

void SlidingWindow::Add(const Amounts& amounts, absl::Time now) {
  Advance(now);
  steps_[newest_] += amounts;
}

Amounts SlidingWindow::Used(absl::Time now) {
  Advance(now);
  Amounts used;
  for (const Amounts& step : steps_) used += step;
  return used;
}

absl::Duration SlidingWindow::RoomAfter(Resource resource, double most,
                                        absl::Time now) {
  double used = Used(now)[resource];
  absl::Duration after = absl::ZeroDuration();
  // The oldest step leaves first, when the newest is complete.
  for (size_t i = 1; i <= steps_.size() && used >= most; ++i) {
    used -= steps_[(newest_ + i) % steps_.size()][resource];
    after = step_ * static_cast<int64_t>(i) - into_newest_;
  }
  return after;
}

SlidingWindow::Kept SlidingWindow::Keep(absl::Time now) {
  Advance(now);
  Kept kept;
  kept.into_newest = into_newest_;
  for (size_t i = 0; i < steps_.size(); ++i) {
    kept.steps.push_back(steps_[(newest_ + steps_.size() - i) % steps_.size()]);
  }
  while (!kept.steps.empty() && kept.steps.back() == Amounts()) {
    kept.steps.pop_back();
  }
  return kept;
}

BudgetUse::BudgetUse(const Kept& kept, absl::Time then)
    : hour_(kHour, kept.hour, then), day_(kDay, kept.day, then) {}

void BudgetUse::Add(const Amounts& amounts, absl::Time now) {
  hour_.Add(amounts, now);
  day_.Add(amounts, now);
}

Amounts BudgetUse::Used(BudgetSpan span, absl::Time now) {
  return (span == BudgetSpan::kHour ? hour_ : day_).Used(now);
}

std::optional<BudgetSpent> BudgetUse::FindSpent(const Budgets& budgets,
                                                absl::Time now) {
  std::optional<BudgetSpent> last;
  const auto look = [&](BudgetSpan span, const Budget& budget,
                        SlidingWindow& window) {
    const Amounts used = window.Used(now);
    for (size_t i = 0; i < kResources; ++i) {
      const auto resource = static_cast<Resource>(i);
      const double most = budget.most[resource];
      if (used[resource] < most) continue;
      const absl::Duration after = window.RoomAfter(resource, most, now);
      if (last && last->room_after >= after) continue;
      last = BudgetSpent{span, resource, used[resource], most, after};
    }
  };
  look(BudgetSpan::kHour, budgets.hour, hour_);
  look(BudgetSpan::kDay, budgets.day, day_);
  return last;
}

}  // namespace sandglass::policy
