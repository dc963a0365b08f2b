// How long a jail is waited for; the test is its init.
#include "server/job/await_event.h"

#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/setup_step.h"
#include "server/base/clock.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

class AwaitEventTest : public ::testing::Test {
 protected:
  AwaitEventTest() {
    auto ends = os::SeqPacketPair();
    EXPECT_TRUE(ends.ok()) << ends.status();
    init_ = std::move(ends->second);
    sandbox::Jail::Parts parts;
    parts.control = std::move(ends->first);
    jail_ = std::make_unique<sandbox::Jail>(std::move(parts));
  }

  void SayFailed() {
    internal::InitEvent event;
    event.mutable_failed()->set_step(
        static_cast<int>(sandbox::SetupStep::kMountProc));
    event.mutable_failed()->set_error(EIO);
    EXPECT_TRUE(os::SendPacket(init_.get(), event.SerializeAsString(), {},
                               os::Wait::kNo)
                    .ok());
  }
  std::string Await(MonotonicTime end) {
    return std::string(
        AwaitEvent<sandbox::ReadyEvent>(*jail_, end, "the jail was not ready")
            .message());
  }

  os::Fd init_;
  std::unique_ptr<sandbox::Jail> jail_;
};

TEST_F(AwaitEventTest, OneThatIsSilentIsLate) {
  EXPECT_THAT(Await(After(Now(), absl::Milliseconds(20))),
              HasSubstr("the jail was not ready within 1s"));
}

// The process stood still, for example, or the whole machine.
TEST_F(AwaitEventTest, WhatHasComeMeanwhileCounts) {
  SayFailed();
  EXPECT_THAT(Await(Now() - std::chrono::seconds(5)), HasSubstr("mount_proc"));
}

}  // namespace
}  // namespace sandglass::server
