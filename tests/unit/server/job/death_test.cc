#include "server/job/death.h"

#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

using Step = Death::Step;

constexpr MonotonicTime kKilled = FromNanos(1'000'000'000'000);

MonotonicTime AfterKill(absl::Duration since_kill) {
  return After(kKilled, since_kill);
}

TEST(Death, TurnsToStrongerWays) {
  Death death(kKilled, kProgramDeath);
  EXPECT_EQ(death.next(), AfterKill(absl::Milliseconds(50)));
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(49))), Step::kWait);
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(50))), Step::kKillByPid);
  EXPECT_EQ(death.next(), AfterKill(absl::Milliseconds(150)));
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(149))), Step::kWait);
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(4999))), Step::kKillByPid);
  EXPECT_EQ(death.Check(AfterKill(absl::Seconds(5))), Step::kWait);
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(5100))), Step::kEndJail);
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(6999))), Step::kEndJail);
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(7100))),
            Step::kEndPidNamespace);
  EXPECT_EQ(death.Check(AfterKill(absl::Milliseconds(9950))),
            Step::kEndPidNamespace);
  // It isn't given up later than it has to be.
  EXPECT_EQ(death.next(), AfterKill(kDeathTimeout));
  EXPECT_EQ(death.Check(death.next()), Step::kGiveUp);
  EXPECT_EQ(death.Check(death.next()), Step::kGiveUp);
}

TEST(Death, ASessionsJailEndsLater) {
  Death kernel(kKilled, kKernelDeath);
  EXPECT_EQ(kernel.next(), AfterKill(kKillEvery));
  EXPECT_EQ(kernel.Check(AfterKill(absl::Milliseconds(7999))),
            Step::kKillByPid);
  EXPECT_EQ(kernel.Check(AfterKill(absl::Milliseconds(8100))), Step::kEndJail);
  EXPECT_EQ(kernel.Check(AfterKill(absl::Milliseconds(9999))), Step::kEndJail);
  EXPECT_EQ(kernel.Check(AfterKill(kDeathTimeout)), Step::kGiveUp);

  Death command(kKilled, kCommandDeath);
  EXPECT_EQ(command.Check(AfterKill(absl::Milliseconds(9999))),
            Step::kKillByPid);
  EXPECT_EQ(command.Check(AfterKill(kDeathTimeout)), Step::kGiveUp);
}

}  // namespace
}  // namespace sandglass::server
