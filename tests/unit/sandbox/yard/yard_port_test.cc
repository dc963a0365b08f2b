// What a yard has, as the daemon asks for it; the test is the spawner.
#include "sandbox/yard/yard_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/clocks.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::sandbox {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

// A yard's channel, and its spawner's end of it.
struct Ends {
  Ends() {
    auto channel = os::SeqPacketPair();
    EXPECT_TRUE(channel.ok());
    yard.channel = std::move(channel->first);
    spawner = std::move(channel->second);
    // Readable: a spawner that has ended, and is no child of ours.
    yard.pidfd.reset(::eventfd(1, EFD_CLOEXEC));
    yard.pid = ::getpid();
  }

  // The next packet is the question.
  void ExpectQuestion() const {
    const auto packet = os::ReceivePacket(spawner.get(), os::Wait::kYes);
    ASSERT_TRUE(packet.ok()) << packet.status();
    internal::SpawnerRequest request;
    ASSERT_TRUE(request.ParseFromString(packet->data));
    EXPECT_TRUE(request.has_take_stock());
  }
  // Nothing was sent.
  bool IsSilent() const {
    return absl::IsNotFound(
        os::ReceivePacket(spawner.get(), os::Wait::kNo).status());
  }
  void Answer(uint32_t jails) const {
    internal::SpawnerEvent event;
    event.mutable_stock()->set_jails(jails);
    EXPECT_TRUE(os::SendPacket(spawner.get(), event.SerializeAsString(), {},
                               os::Wait::kYes)
                    .ok());
  }

  Yard yard;
  os::Fd spawner;
};

class StockOfAYard : public ::testing::Test {
 protected:
  StockOfAYard() : port_(std::move(ends_.yard), false, 4, false) {
    EXPECT_TRUE(port_
                    .StartReader([this](absl::Status status) {
                      death_ = std::move(status);
                      died_.Notify();
                    })
                    .ok());
  }

  // Of the answer, however long it takes.
  uint32_t Jails(uint64_t answer) {
    const auto stock = port_.AwaitStock(answer, os::SteadyNow() + kPatience);
    EXPECT_TRUE(stock.has_value());
    return stock.has_value() ? stock->jails : 0;
  }
  // What is known by now.
  std::optional<YardStock> Known(uint64_t answer) {
    return port_.AwaitStock(answer, os::SteadyNow());
  }

  absl::Status death_;
  absl::Notification died_;
  Ends ends_;
  YardPort port_;
};

TEST_F(StockOfAYard, IsAskedForOnceByAllWhoWait) {
  const uint64_t first = port_.AskStock();
  const uint64_t second = port_.AskStock();
  ends_.ExpectQuestion();
  EXPECT_TRUE(ends_.IsSilent());
  std::thread other([&] { EXPECT_EQ(Jails(second), 3u); });
  ends_.Answer(3);
  EXPECT_EQ(Jails(first), 3u);
  other.join();
}

TEST_F(StockOfAYard, IsAskedForAnewOnceItIsAnswered) {
  for (uint32_t jails = 1; jails < 4; ++jails) {
    const uint64_t answer = port_.AskStock();
    ends_.ExpectQuestion();
    ends_.Answer(jails);
    EXPECT_EQ(Jails(answer), jails);
  }
  EXPECT_TRUE(ends_.IsSilent());
}

TEST_F(StockOfAYard, IsTheLastKnownWhileNoAnswerComes) {
  const uint64_t first = port_.AskStock();
  EXPECT_FALSE(Known(first).has_value());
  ends_.ExpectQuestion();
  ends_.Answer(1);
  EXPECT_EQ(Jails(first), 1u);
  const uint64_t second = port_.AskStock();
  const auto known = Known(second);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->jails, 1u);
  // But not for ever.
  EXPECT_FALSE(port_.AwaitStock(second, os::SteadyNow(), absl::ZeroDuration()));
  // An answer that comes late is the next caller's.
  ends_.ExpectQuestion();
  ends_.Answer(2);
  EXPECT_EQ(Jails(second), 2u);
  EXPECT_FALSE(died_.HasBeenNotified());
}

TEST_F(StockOfAYard, AnUnaskedAnswerEndsTheYard) {
  ends_.Answer(1);
  died_.WaitForNotification();
  EXPECT_TRUE(absl::IsInternal(death_)) << death_;
  EXPECT_FALSE(Known(port_.AskStock()).has_value());
}

TEST_F(StockOfAYard, ASecondAnswerEndsTheYard) {
  const uint64_t answer = port_.AskStock();
  ends_.Answer(1);
  ends_.Answer(2);
  died_.WaitForNotification();
  EXPECT_TRUE(absl::IsInternal(death_)) << death_;
  EXPECT_EQ(Jails(answer), 1u);
}

TEST_F(StockOfAYard, IsNotWaitedForWhenItsSpawnerIsGone) {
  const uint64_t first = port_.AskStock();
  ends_.Answer(1);
  EXPECT_EQ(Jails(first), 1u);
  const uint64_t second = port_.AskStock();
  ends_.spawner.reset();
  EXPECT_EQ(Jails(second), 1u);
  died_.WaitForNotification();
  EXPECT_EQ(Jails(port_.AskStock()), 1u);
}

// With time to answer in that no machine is too slow for.
TEST(YardPort, TellsOfASpawnerThatHangs) {
  constexpr absl::Duration kLook = absl::Milliseconds(200);
  Ends ends;
  YardPort port(std::move(ends.yard), false, 4, false);
  absl::Status death;
  absl::Notification died;
  ASSERT_TRUE(port.StartReader(
                      [&](absl::Status status) {
                        death = std::move(status);
                        died.Notify();
                      },
                      kLook)
                  .ok());
  // As long as it answers, however long nobody else asks it anything.
  for (int look = 0; look < 2 * YardPort::kMaxLooks; ++look) {
    ends.ExpectQuestion();
    ends.Answer(1);
  }
  EXPECT_FALSE(died.HasBeenNotified());
  ends.ExpectQuestion();
  const absl::Time end = os::SteadyNow() + kPatience;
  while (!port.IsSilent() && os::SteadyNow() < end) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_TRUE(port.IsSilent());
  died.WaitForNotification();
  EXPECT_TRUE(absl::IsDeadlineExceeded(death)) << death;
  // Nobody waits for it any more.
  EXPECT_TRUE(absl::IsUnavailable(
      port.CreateJail("t", {}, absl::Hours(1), FillFor::kRun, "").status()));
}

void FailTheTest(const absl::Status& status) { ADD_FAILURE() << status; }

TEST(CollectStock, NamesTheYardsThatAnswered) {
  Ends one, other;
  Sandbox sandbox;
  sandbox.Adopt("one", std::move(one.yard), false, 4);
  sandbox.Adopt("other", std::move(other.yard), true, 4);
  ASSERT_TRUE(sandbox.StartReader(FailTheTest).ok());
  EXPECT_TRUE(sandbox.CollectStock(absl::ZeroDuration()).empty());
  one.ExpectQuestion();
  one.Answer(1);
  const absl::Time end = os::SteadyNow() + kPatience;
  std::vector<YardStock> stocks;
  while (stocks.empty() && os::SteadyNow() < end) {
    stocks = sandbox.CollectStock(absl::Milliseconds(1));
  }
  ASSERT_EQ(stocks.size(), 1u);
  EXPECT_EQ(stocks[0].kind, "one");
  EXPECT_EQ(stocks[0].jails, 1u);
}

TEST(CollectStock, AsksAllYardsAtOnce) {
  Ends one, other;
  Sandbox sandbox;
  sandbox.Adopt("one", std::move(one.yard), false, 4);
  sandbox.Adopt("other", std::move(other.yard), true, 4);
  ASSERT_TRUE(sandbox.StartReader(FailTheTest).ok());
  // The second answers first.
  std::thread spawners([&] {
    other.ExpectQuestion();
    other.Answer(2);
    one.ExpectQuestion();
    one.Answer(1);
  });
  const std::vector<YardStock> stocks = sandbox.CollectStock(kPatience);
  spawners.join();
  ASSERT_EQ(stocks.size(), 2u);
  EXPECT_EQ(stocks[0].kind, "one");
  EXPECT_EQ(stocks[0].jails, 1u);
  EXPECT_EQ(stocks[1].kind, "other");
  EXPECT_EQ(stocks[1].jails, 2u);
}

}  // namespace
}  // namespace sandglass::sandbox
