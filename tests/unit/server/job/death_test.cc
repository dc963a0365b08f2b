#include "server/job/death.h"

#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

using Step = Death::Step;

constexpr MonotonicTime kKilled = FromNanos(1'000'000'000'000);

MonotonicTime At(absl::Duration since_kill) {
  return After(kKilled, since_kill);
}

TEST(Death, TurnsToStrongerWays) {
  Death death(kKilled, kProgramDeath);
  EXPECT_EQ(death.next(), At(absl::Milliseconds(50)));
  EXPECT_EQ(death.Check(At(absl::Milliseconds(49))), Step::kWait);
  EXPECT_EQ(death.Check(At(absl::Milliseconds(50))), Step::kKillByPid);
  EXPECT_EQ(death.next(), At(absl::Milliseconds(150)));
  EXPECT_EQ(death.Check(At(absl::Milliseconds(149))), Step::kWait);
  EXPECT_EQ(death.Check(At(absl::Milliseconds(4999))), Step::kKillByPid);
  EXPECT_EQ(death.Check(At(absl::Seconds(5))), Step::kWait);
  EXPECT_EQ(death.Check(At(absl::Milliseconds(5100))), Step::kEndJail);
  EXPECT_EQ(death.Check(At(absl::Milliseconds(6999))), Step::kEndJail);
  EXPECT_EQ(death.Check(At(absl::Milliseconds(7100))), Step::kEndPidNamespace);
  EXPECT_EQ(death.Check(At(absl::Milliseconds(9950))), Step::kEndPidNamespace);
  // It isn't given up later than it has to be.
  EXPECT_EQ(death.next(), At(kDeathTimeout));
  EXPECT_EQ(death.Check(death.next()), Step::kGiveUp);
  EXPECT_EQ(death.Check(death.next()), Step::kGiveUp);
}

TEST(Death, ASessionsJailEndsLater) {
  Death kernel(kKilled, kKernelDeath);
  EXPECT_EQ(kernel.next(), At(kKillEvery));
  EXPECT_EQ(kernel.Check(At(absl::Milliseconds(7999))), Step::kKillByPid);
  EXPECT_EQ(kernel.Check(At(absl::Milliseconds(8100))), Step::kEndJail);
  EXPECT_EQ(kernel.Check(At(absl::Milliseconds(9999))), Step::kEndJail);
  EXPECT_EQ(kernel.Check(At(kDeathTimeout)), Step::kGiveUp);

  Death command(kKilled, kCommandDeath);
  EXPECT_EQ(command.Check(At(absl::Milliseconds(9999))), Step::kKillByPid);
  EXPECT_EQ(command.Check(At(kDeathTimeout)), Step::kGiveUp);
}

}  // namespace
}  // namespace sandglass::server
