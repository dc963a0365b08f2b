#include "server/admission/run_times.h"

#include <string>

#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

TEST(RunTimes, WhatEndedLastCountsMost) {
  RunTimes times;
  for (int i = 0; i < 100; ++i) times.Learn("a", "python", 1);
  EXPECT_DOUBLE_EQ(times.Get("a", "python").seconds, 1);
  for (int i = 0; i < 20; ++i) times.Learn("a", "python", 10);
  EXPECT_NEAR(times.Get("a", "python").seconds, 10, 0.2);
}

TEST(RunTimes, WhatIsNewTakesWhatItsLikesTake) {
  RunTimes times;
  EXPECT_DOUBLE_EQ(times.Get("a", "python").seconds, 0.2);
  for (int i = 0; i < 100; ++i) times.Learn("a", "python", 3);
  EXPECT_DOUBLE_EQ(times.Get("b", "python").seconds, 3);
  EXPECT_FALSE(times.Get("b", "python").sure);
  EXPECT_NEAR(times.Get("b", "ruby").seconds, 3, 0.01);
}

TEST(RunTimes, SureIsWhatWasSeenOftenAndVariesLittle) {
  RunTimes times;
  for (int i = 0; i < 15; ++i) times.Learn("a", "python", 1);
  EXPECT_FALSE(times.Get("a", "python").sure);
  times.Learn("a", "python", 1);
  EXPECT_TRUE(times.Get("a", "python").sure);
  for (int i = 0; i < 30; ++i) {
    times.Learn("a", "python", i % 2 == 0 ? 0.01 : 9);
  }
  EXPECT_FALSE(times.Get("a", "python").sure);
}

TEST(RunTimes, ABoundedNumberIsKnown) {
  RunTimes times(10);
  for (int i = 0; i < 1000; ++i) {
    times.Learn("t" + std::to_string(i), "python", 5);
  }
  EXPECT_DOUBLE_EQ(times.Get("t999", "python").seconds, 5);
  EXPECT_DOUBLE_EQ(times.Get("t0", "python").seconds, 5) << "as all of python";
  times.Learn("t0", "ruby", 1);
  for (int i = 0; i < 1000; ++i) times.Learn("t1", std::to_string(i), 7);
  EXPECT_NEAR(times.Get("t0", "ruby").seconds, 7, 0.01) << "forgotten";
}

}  // namespace
}  // namespace sandglass::server
