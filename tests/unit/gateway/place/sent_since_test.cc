#include "gateway/place/sent_since.h"

#include <limits>

#include "gtest/gtest.h"
#include "tests/unit/gateway/place/place_support.h"

namespace sandglass::gateway {
namespace {

constexpr Taken kSmallRun = {.memory_bytes = 10};
constexpr Taken kSmallSession = {.session = true, .memory_bytes = 100};

TEST(SentSinceTest, WhatIsSentAndEnds) {
  SentSince since;
  since.Sent(kSmallRun, AtMs(0));
  since.Sent(kSmallRun, AtMs(5));
  since.Sent(kSmallSession, AtMs(5));
  since.Ended(kSmallRun, AtMs(9));
  EXPECT_EQ(since.sum().runs, 1);
  EXPECT_EQ(since.sum().run_memory, 10);
  EXPECT_EQ(since.sum().sessions, 1);
  EXPECT_EQ(since.sum().session_memory, 100);
}

TEST(SentSinceTest, AReportTakesAwayWhatCameBeforeIt) {
  SentSince since;
  since.Reported(AtMs(0));
  since.Sent(kSmallRun, AtMs(0));
  since.Sent(kSmallRun, AtMs(10));
  since.Ended(kSmallRun, AtMs(20));
  since.Reported(AtMs(1));  // in the middle of a step, which stays
  EXPECT_EQ(since.sum().runs, 1);
  since.Reported(AtMs(2));
  EXPECT_EQ(since.sum().runs, 0);
  since.Reported(AtMs(12));
  EXPECT_EQ(since.sum().runs, -1);
  since.Reported(AtMs(22));
  EXPECT_EQ(since.sum().runs, 0);
  EXPECT_EQ(since.steps(), 0u);
}

TEST(SentSinceTest, ManyTakeAsLittleMemoryAsFew) {
  SentSince since;
  for (int64_t i = 0; i < 1'000'000; ++i) since.Sent(kSmallRun, AtMs(i / 1000));
  EXPECT_EQ(since.sum().runs, 1'000'000);
  EXPECT_LE(since.steps(), 501u);
  for (int64_t i = 0; i < 10'000; ++i)
    since.Sent(kSmallRun, AtMs(2000 + 3 * i));
  EXPECT_LE(since.steps(), SentSince::kMaxSteps);
  EXPECT_EQ(since.sum().runs, 1'010'000);
}

TEST(SentSinceTest, TimesThatGoBackJoinTheLastStep) {
  SentSince since;
  since.Sent(kSmallRun, AtMs(100));
  since.Sent(kSmallRun, AtMs(50));
  EXPECT_EQ(since.steps(), 1u);
  since.Reported(AtMs(60));
  EXPECT_EQ(since.sum().runs, 2);
}

TEST(SentSinceTest, SumsDontOverflow) {
  SentSince since;
  const Taken all = {.memory_bytes = std::numeric_limits<uint64_t>::max()};
  for (int64_t i = 0; i < 100; ++i) since.Sent(all, AtMs(5 * i));
  EXPECT_GT(since.sum().run_memory, 0);
  for (int64_t i = 0; i < 300; ++i) since.Ended(all, AtMs(500 + 5 * i));
  EXPECT_LT(since.sum().run_memory, 0);
  since.Reported(AtMs(5000));
  EXPECT_EQ(since.sum().run_memory, 0);
}

}  // namespace
}  // namespace sandglass::gateway
