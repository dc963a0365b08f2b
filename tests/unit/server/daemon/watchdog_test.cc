// When the service manager hears that the daemon works.
#include "server/daemon/watchdog.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

class WatchdogTimeTest : public ::testing::Test {
 protected:
  void TearDown() override {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::unsetenv("WATCHDOG_USEC");
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::unsetenv("WATCHDOG_PID");
  }
  static void Set(const char* name, const std::string& value) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::setenv(name, value.c_str(), 1);
  }
};

TEST_F(WatchdogTimeTest, IsAbsentWithoutAManager) {
  EXPECT_FALSE(WatchdogTime());
  Set("WATCHDOG_PID", std::to_string(::getpid()));
  EXPECT_FALSE(WatchdogTime());
}

TEST_F(WatchdogTimeTest, IsForThisProcessOrItsSupervisor) {
  Set("WATCHDOG_USEC", "60000000");
  EXPECT_EQ(WatchdogTime(), absl::Seconds(60));
  Set("WATCHDOG_PID", std::to_string(::getpid()));
  EXPECT_EQ(WatchdogTime(), absl::Seconds(60));
  Set("WATCHDOG_PID", std::to_string(::getppid()));
  EXPECT_EQ(WatchdogTime(), absl::Seconds(60));
}

TEST_F(WatchdogTimeTest, IsNotForAnotherProcess) {
  Set("WATCHDOG_USEC", "60000000");
  Set("WATCHDOG_PID", std::to_string(::getpid() + 1));
  EXPECT_FALSE(WatchdogTime());
}

TEST_F(WatchdogTimeTest, MalformedValuesAreRefused) {
  for (const char* value : {"", "0", "-5", "soon", "99999999999999999999"}) {
    Set("WATCHDOG_USEC", value);
    EXPECT_FALSE(WatchdogTime()) << value;
  }
}

class WatchdogTest : public ::testing::Test {
 protected:
  void BeatAt(int seconds) {
    watchdog_.Beat(start_ + std::chrono::seconds(seconds));
  }

  const MonotonicTime start_ = Now();
  std::vector<Watchdog::Done> asked_;
  int said_ = 0;
  Watchdog watchdog_{
      absl::Seconds(40),
      [this](Watchdog::Done done) { asked_.push_back(std::move(done)); },
      [this] { ++said_; }};
};

TEST_F(WatchdogTest, NotifiesSeveralTimesWithinTheTimeout) {
  EXPECT_EQ(watchdog_.interval(), absl::Seconds(10));
  for (int seconds = 0; seconds <= 40; ++seconds) {
    BeatAt(seconds);
    asked_.back()();
  }
  EXPECT_EQ(said_, 5);
  EXPECT_EQ(asked_.size(), 5u);
}

TEST_F(WatchdogTest, IsSilentWhileTheOtherThreadHangs) {
  BeatAt(0);
  for (int seconds = 1; seconds < 100; ++seconds) BeatAt(seconds);
  EXPECT_EQ(said_, 1);
  EXPECT_EQ(asked_.size(), 1u) << "questions pile up";
  asked_.back()();
  BeatAt(100);
  EXPECT_EQ(said_, 2);
}

TEST_F(WatchdogTest, DoesNothingWithoutAManager) {
  Watchdog idle(
      std::nullopt, [](const Watchdog::Done&) { FAIL(); }, [] { FAIL(); });
  EXPECT_EQ(idle.interval(), absl::InfiniteDuration());
  idle.Beat();
}

TEST_F(WatchdogTest, AnAnswerThatComesAfterItsEndSaysNothing) {
  Watchdog::Done done;
  int said = 0;
  const auto sentinel = std::make_shared<int>(0);
  {
    Watchdog watchdog(
        absl::Seconds(1), [&](Watchdog::Done d) { done = std::move(d); },
        [&said, sentinel] { ++said; });
    watchdog.Beat();
    EXPECT_EQ(said, 1);
  }
  ASSERT_TRUE(done) << "the other thread was not asked";
  EXPECT_EQ(sentinel.use_count(), 1)
      << "what waits for the answer keeps the watchdog's own parts";
  done();
  EXPECT_EQ(said, 1) << "a watchdog that is gone has told the manager";
}

}  // namespace
}  // namespace sandglass::server
