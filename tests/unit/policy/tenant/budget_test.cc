#include "policy/tenant/budget.h"

#include "gtest/gtest.h"

namespace sandglass::policy {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

Amounts Of(Resource resource, double amount) {
  Amounts amounts;
  amounts[resource] = amount;
  return amounts;
}

double Runs(SlidingWindow& window, absl::Time now) {
  return window.Used(now)[Resource::kRuns];
}

TEST(SlidingWindow, WhatLeavesTheWindowCountsNoMore) {
  SlidingWindow hour(absl::Hours(1));
  hour.Add(Of(Resource::kRuns, 3), kStart);
  hour.Add(Of(Resource::kRuns, 4), kStart + absl::Minutes(30));
  EXPECT_EQ(Runs(hour, kStart + absl::Minutes(59)), 7);
  EXPECT_EQ(Runs(hour, kStart + absl::Minutes(60)), 7);
  EXPECT_EQ(Runs(hour, kStart + absl::Minutes(61)), 4);
  EXPECT_EQ(Runs(hour, kStart + absl::Minutes(91)), 0);
  EXPECT_EQ(Runs(hour, kStart + absl::Hours(5000)), 0);
}

TEST(SlidingWindow, RoomComesWhenItIsSaid) {
  for (const double spread : {0.0, 0.7, 7.0, 59.0}) {
    SlidingWindow hour(absl::Hours(1));
    for (int i = 0; i < 10; ++i) {
      hour.Add(Of(Resource::kRuns, 1), kStart + absl::Minutes(spread * i / 10));
    }
    const absl::Time now = kStart + absl::Minutes(spread) + absl::Seconds(7);
    for (const double most : {10.0, 5.0, 1.0}) {
      SlidingWindow look = hour;
      const absl::Duration after = look.RoomAfter(Resource::kRuns, most, now);
      EXPECT_GT(after, absl::ZeroDuration());
      SlidingWindow before = hour;
      EXPECT_GE(Runs(before, now + after - absl::Seconds(1)), most) << spread;
      SlidingWindow then = hour;
      EXPECT_LT(Runs(then, now + after), most) << spread;
    }
  }
}

TEST(SlidingWindow, WhereThereIsRoomNobodyWaits) {
  SlidingWindow day(absl::Hours(24));
  day.Add(Of(Resource::kCpuSeconds, 9), kStart);
  EXPECT_EQ(day.RoomAfter(Resource::kCpuSeconds, 10, kStart),
            absl::ZeroDuration());
  EXPECT_EQ(day.RoomAfter(Resource::kRuns, 1, kStart), absl::ZeroDuration());
}

// Nothing is free at once, and nothing counts for an hour longer either.
TEST(SlidingWindow, AClockSetBackByAnHourChangesNothing) {
  SlidingWindow hour(absl::Hours(1));
  hour.Add(Of(Resource::kRuns, 5), kStart);
  EXPECT_EQ(Runs(hour, kStart + absl::Minutes(20)), 5);
  const absl::Time back = kStart - absl::Minutes(40);
  EXPECT_EQ(Runs(hour, back), 5);
  hour.Add(Of(Resource::kRuns, 1), back);
  EXPECT_EQ(hour.RoomAfter(Resource::kRuns, 2, back), absl::Minutes(41));
  EXPECT_EQ(Runs(hour, back + absl::Minutes(40)), 6);
  EXPECT_EQ(Runs(hour, back + absl::Minutes(41)), 1);
  EXPECT_EQ(Runs(hour, back + absl::Minutes(61)), 0);
}

TEST(BudgetUse, WhatIsUsedUpLongestIsTold) {
  Budgets budgets;
  budgets.hour.most[Resource::kRuns] = 2;
  budgets.day.most[Resource::kGbSeconds] = 100;
  BudgetUse use;
  EXPECT_FALSE(use.FindSpent(budgets, kStart).has_value());
  Amounts run = Of(Resource::kRuns, 1);
  run[Resource::kGbSeconds] = 49;
  use.Add(run, kStart);
  EXPECT_FALSE(use.FindSpent(budgets, kStart).has_value());
  use.Add(run, kStart);
  auto spent = use.FindSpent(budgets, kStart + absl::Minutes(1));
  ASSERT_TRUE(spent.has_value());
  EXPECT_EQ(spent->span, BudgetSpan::kHour);
  EXPECT_EQ(spent->resource, Resource::kRuns);
  EXPECT_EQ(spent->used, 2);
  EXPECT_EQ(spent->most, 2);
  EXPECT_EQ(spent->room_after, absl::Minutes(60));
  use.Add(Of(Resource::kGbSeconds, 2), kStart + absl::Minutes(1));
  spent = use.FindSpent(budgets, kStart + absl::Minutes(1));
  ASSERT_TRUE(spent.has_value());
  EXPECT_EQ(spent->span, BudgetSpan::kDay);
  EXPECT_EQ(spent->resource, Resource::kGbSeconds);
  EXPECT_GT(spent->room_after, absl::Hours(23));
}

TEST(BudgetUse, WithoutBudgetsNothingIsUsedUp) {
  BudgetUse use;
  Amounts all;
  for (size_t i = 0; i < kResources; ++i) {
    all[static_cast<Resource>(i)] = 1e18;
  }
  use.Add(all, kStart);
  EXPECT_FALSE(use.FindSpent(Budgets(), kStart).has_value());
}

TEST(BudgetUse, GoesOnInTheNextProcess) {
  BudgetUse use;
  use.Add(Of(Resource::kRuns, 3), kStart);
  use.Add(Of(Resource::kRuns, 4), kStart + absl::Minutes(30));
  use.Add(Of(Resource::kCpuSeconds, 5), kStart + absl::Minutes(30));
  const absl::Time kept_at = kStart + absl::Minutes(40);
  // The next one's clock has another beginning.
  const absl::Time then = absl::FromUnixSeconds(1000);
  BudgetUse next(use.Keep(kept_at), then);
  for (const int minutes : {0, 5, 19, 20, 21, 50, 51, 52, 1440, 3000}) {
    for (const BudgetSpan span : {BudgetSpan::kHour, BudgetSpan::kDay}) {
      EXPECT_EQ(next.Used(span, then + absl::Minutes(minutes)),
                use.Used(span, kept_at + absl::Minutes(minutes)))
          << minutes;
    }
  }
  EXPECT_EQ(
      BudgetUse(BudgetUse().Keep(kStart), then).Used(BudgetSpan::kDay, then),
      Amounts());
}

// A file that isn't quite ours does no harm.
TEST(SlidingWindow, OddValuesAreBounded) {
  SlidingWindow::Kept kept;
  kept.into_newest = absl::Hours(99);
  kept.steps.assign(500, Of(Resource::kRuns, 1));
  SlidingWindow hour(absl::Hours(1), kept, kStart);
  EXPECT_LE(Runs(hour, kStart), 61);
  EXPECT_EQ(Runs(hour, kStart + absl::Hours(2)), 0);
}

}  // namespace
}  // namespace sandglass::policy
