#include "sandbox/spawner/retry.h"

#include <gtest/gtest.h>

namespace sandglass::sandbox {
namespace {

TEST(Retry, IsDueAtOnceUntilItFails) {
  Retry retry;
  EXPECT_TRUE(retry.Due(0));
  EXPECT_TRUE(retry.Failed(1000, "no room"));
  EXPECT_FALSE(retry.Due(1000 + Retry::kMinPauseNanos - 1));
  EXPECT_TRUE(retry.Due(1000 + Retry::kMinPauseNanos));
  EXPECT_EQ(retry.at(), 1000 + Retry::kMinPauseNanos);
  EXPECT_EQ(retry.failures(), 1u);
  EXPECT_EQ(retry.why(), "no room");
}

TEST(Retry, PausesLongerEachTimeUpToABound) {
  Retry retry;
  int64_t now = 0;
  int64_t last = 0;
  for (int i = 0; i < 40; ++i) {
    (void)retry.Failed(now, "no room");
    const int64_t pause = retry.at() - now;
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, Retry::kMaxPauseNanos);
    last = pause;
    now = retry.at();
  }
  EXPECT_EQ(last, Retry::kMaxPauseNanos);
  EXPECT_EQ(retry.failures(), 40u);
}

TEST(Retry, IsNewsAtFirstAndThenNowAndThen) {
  Retry retry;
  int news = 0;
  int64_t now = 0;
  constexpr int64_t kMinute = 60'000'000'000;
  while (now < kMinute) {
    if (retry.Failed(now, "no room")) ++news;
    now = retry.at();
  }
  EXPECT_GE(news, 2);
  EXPECT_LE(news, 8);
}

TEST(Retry, ForgetsAfterASuccess) {
  Retry retry;
  EXPECT_FALSE(retry.Succeeded());
  for (int i = 0; i < 5; ++i) (void)retry.Failed(0, "no room");
  EXPECT_TRUE(retry.Succeeded());
  EXPECT_FALSE(retry.Succeeded());
  EXPECT_TRUE(retry.Due(0));
  EXPECT_EQ(retry.why(), "");
  EXPECT_EQ(retry.failures(), 5u);
  EXPECT_TRUE(retry.Failed(0, "again"));
  EXPECT_EQ(retry.at(), Retry::kMinPauseNanos);
}

}  // namespace
}  // namespace sandglass::sandbox
