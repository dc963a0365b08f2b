// Which of several yards makes the next jail; the test is their spawners.
#include "sandbox/yard/yard_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/yard/yard.h"

namespace sandglass::sandbox {
namespace {

constexpr absl::Duration kLongest = absl::Seconds(30);

class YardGroupTest : public ::testing::Test {
 protected:
  ~YardGroupTest() override {
    for (std::thread& caller : callers_) caller.join();
  }

  void AddYard(bool has_zygote) {
    auto channel = os::SeqPacketPair();
    ASSERT_TRUE(channel.ok()) << channel.status();
    Yard yard;
    yard.channel = std::move(channel->first);
    yard.pidfd.reset(::eventfd(1, EFD_CLOEXEC));  // as if it had ended
    yard.pid = ::getpid();
    spawners_.push_back(std::move(channel->second));
    group_.Add(
        std::make_unique<YardPort>(std::move(yard), has_zygote, 8, false));
    ASSERT_TRUE(
        group_.ports().back()->StartReader([](const absl::Status&) {}).ok());
  }
  // Asks for a jail, which nobody makes, on a thread of its own.
  void Ask() {
    callers_.emplace_back([this] {
      EXPECT_FALSE(group_
                       .CreateJail("template", policy::Limits(), kLongest,
                                   FillFor::kRun, "")
                       .ok());
    });
  }
  // The number of the jail that this yard was asked for.
  uint64_t AskedFor(size_t yard) {
    const auto packet =
        os::ReceivePacket(spawners_[yard].get(), os::Wait::kYes);
    internal::SpawnerRequest request;
    EXPECT_TRUE(packet.ok() && request.ParseFromString(packet->data) &&
                request.has_create());
    return request.create().jail_id();
  }
  void Say(size_t yard, const internal::SpawnerEvent& event) {
    EXPECT_TRUE(os::SendPacket(spawners_[yard].get(), event.SerializeAsString(),
                               {}, os::Wait::kYes)
                    .ok());
  }
  void Refuse(size_t yard, uint64_t jail) {
    internal::SpawnerEvent event;
    event.mutable_created()->set_jail_id(jail);
    event.mutable_created()->set_no_slot(true);
    Say(yard, event);
  }
  void SayZygote(size_t yard, bool serves) {
    internal::SpawnerEvent event;
    event.mutable_zygote()->set_serves(serves);
    Say(yard, event);
    const absl::Time end = os::SteadyNow() + kLongest;
    while (group_.ports()[yard]->Serves() != serves && os::SteadyNow() < end) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(group_.ports()[yard]->Serves(), serves);
  }

  std::vector<os::Fd> spawners_;
  YardGroup group_;
  std::vector<std::thread> callers_;
};

TEST_F(YardGroupTest, TheOneThatMakesTheFewestIsAsked) {
  for (int i = 0; i < 3; ++i) AddYard(false);
  std::vector<uint64_t> asked;
  for (size_t yard = 0; yard < 3; ++yard) {
    Ask();
    asked.push_back(AskedFor(yard));
  }
  // One of them is done, and so it is the next.
  Refuse(1, asked[1]);
  callers_[1].join();
  callers_.erase(callers_.begin() + 1);
  Ask();
  const uint64_t next = AskedFor(1);
  EXPECT_GT(next, asked[1]);
  Refuse(0, asked[0]);
  Refuse(1, next);
  Refuse(2, asked[2]);
}

TEST_F(YardGroupTest, OneWhoseZygoteDoesNotServeIsLeftOut) {
  for (int i = 0; i < 3; ++i) AddYard(true);
  // While none serves, the first has the callers wait.
  Ask();
  const uint64_t first = AskedFor(0);
  SayZygote(0, true);
  SayZygote(2, true);
  Ask();
  const uint64_t second = AskedFor(2);
  SayZygote(2, false);
  Ask();
  const uint64_t third = AskedFor(0);
  Refuse(0, first);
  Refuse(2, second);
  Refuse(0, third);
}

TEST_F(YardGroupTest, WhatASpawnerWasAskedForAsItEndedAnotherMakes) {
  for (int i = 0; i < 2; ++i) AddYard(false);
  Ask();
  (void)AskedFor(0);
  spawners_[0].reset();
  const uint64_t again = AskedFor(1);
  EXPECT_TRUE(group_.GoesOnWithout(*group_.ports()[0]));
  // None that is broken is asked, however many the other makes.
  Ask();
  const uint64_t next = AskedFor(1);
  Refuse(1, again);
  Refuse(1, next);
}

// As at a stop of the machine, which ends spawners and daemon at once.
TEST_F(YardGroupTest, SpawnersMayEndWhileTheGroupGoes) {
  for (int round = 0; round < 50; ++round) {
    auto group = std::make_unique<YardGroup>();
    std::vector<os::Fd> spawners;
    for (int i = 0; i < 4; ++i) {
      auto channel = os::SeqPacketPair();
      ASSERT_TRUE(channel.ok()) << channel.status();
      Yard yard;
      yard.channel = std::move(channel->first);
      yard.pidfd.reset(::eventfd(1, EFD_CLOEXEC));
      spawners.push_back(std::move(channel->second));
      group->Add(std::make_unique<YardPort>(std::move(yard), false, 8, false));
      const YardPort& port = *group->ports().back();
      ASSERT_TRUE(group->ports()
                      .back()
                      ->StartReader([&group = *group, &port](const auto&) {
                        (void)group.GoesOnWithout(port);
                      })
                      .ok());
    }
    std::thread end([&] { spawners.clear(); });
    group.reset();
    end.join();
  }
}

TEST_F(YardGroupTest, TheLastOneIsMissed) {
  for (int i = 0; i < 2; ++i) AddYard(true);
  spawners_[0].reset();
  spawners_[1].reset();
  const auto broken = [&] {
    return group_.ports()[0]->IsBroken() && group_.ports()[1]->IsBroken();
  };
  const absl::Time end = os::SteadyNow() + kLongest;
  while (!broken() && os::SteadyNow() < end) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_FALSE(group_.GoesOnWithout(*group_.ports()[0]));
  EXPECT_FALSE(group_.GoesOnWithout(*group_.ports()[1]));
  Ask();
}

}  // namespace
}  // namespace sandglass::sandbox
