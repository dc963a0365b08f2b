// What a connection's calls take of their caller's share of memory, and what
// becomes of those that find no room.

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "connection_tap_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/edge/refused_message.h"
#include "server/edge/request_room.h"

namespace sandglass::server {
namespace {

// The words of its tests. NOLINTNEXTLINE(google-build-using-namespace)
using namespace tap_fixture;

TEST_F(ConnectionTapTest, AMessageHasRoomUntilItsCallIsOver) {
  // With the bytes before it, in which its length is.
  constexpr uint64_t kRoom = 12005;
  const auto begin = [&](uint32_t stream) {
    Seen seen = Receive(
        tap_,
        (stream == 1 ? std::string(kPreface) : "") + Headers(stream) +
            Frame(Http2Frame::kData, 0, stream, Prefix(12000) + "first bytes"),
        1 << 20, {8192});
    EXPECT_FALSE(seen.ended);
    return seen;
  };
  begin(1);
  EXPECT_EQ(room_.used(), kRoom);
  EXPECT_LT(tap_.state().unfinished_since, Now());
  Receive(tap_, Frame(Http2Frame::kData, 1, 1, std::string(12000 - 11, 'x')),
          1 << 20, {8192});
  EXPECT_EQ(room_.used(), kRoom);
  EXPECT_EQ(tap_.state().unfinished_since, MonotonicTime::max());
  EXPECT_EQ(tap_.state().open_calls, 1u);
  Send(tap_, Headers(1) + Frame(Http2Frame::kHeaders, 5, 1, "trailers"));
  EXPECT_EQ(tap_.state().open_calls, 0u);
  EXPECT_EQ(room_.used(), 0u);

  begin(3);
  // Until it is whole gRPC keeps what it has.
  const std::string reset =
      Frame(Http2Frame::kResetStream, 0, 3, std::string("\0\0\0\x8", 4));
  Receive(tap_, reset.substr(0, reset.size() - 1), 100, {8192});
  EXPECT_EQ(room_.used(), kRoom);
  Receive(tap_, reset.substr(reset.size() - 1), 100, {8192});
  EXPECT_EQ(room_.used(), 0u);
  begin(5);
  EXPECT_EQ(room_.used(), kRoom);
  Send(tap_, Frame(Http2Frame::kResetStream, 0, 5, "\0\0\0\0"));
  EXPECT_EQ(room_.used(), 0u);
  begin(7);
  EXPECT_EQ(room_.used(), kRoom);
  tap_.Close();
  EXPECT_EQ(room_.used(), 0u);
}

TEST_F(ConnectionTapTest, WhoHasUsedItsShareIsRefusedAndOthersAreNot) {
  const auto begin = [&](ConnectionTap& tap, uint32_t stream) {
    const std::string seen =
        Receive(tap,
                (stream == 1 ? std::string(kPreface) : "") + Headers(stream) +
                    Frame(Http2Frame::kData, 0, stream,
                          Prefix(kMax) + std::string(100, 'x')),
                1 << 20, {8192})
            .bytes;
    return seen.find(Prefix(RefusedMessage::kBytes)) == std::string::npos;
  };
  // One alone has half of what there is for four.
  EXPECT_TRUE(begin(tap_, 1));
  EXPECT_TRUE(begin(tap_, 3));
  EXPECT_FALSE(begin(tap_, 5));
  ConnectionTap same(room_, "uid:1", kMax);
  EXPECT_FALSE(begin(same, 1));
  ConnectionTap other(room_, "uid:2", kMax);
  EXPECT_TRUE(begin(other, 1));
  tap_.Close();
  EXPECT_TRUE(begin(same, 3));
}

// gRPC tells nobody when the method has read something.
TEST_F(ConnectionTapTest, WhatMayBeUnreadOfACallIsCountedUntilItIsOver) {
  const std::string small = Message(1, std::string(1995, 'x'));
  Receive(tap_, std::string(kPreface) + Headers(1) + small + small, 1 << 20,
          {8192});
  // So far it is no more than any call takes.
  EXPECT_EQ(room_.used(), 0u);
  Receive(tap_, small, 1 << 20, {8192});
  EXPECT_EQ(room_.used(), 6000u);
  Receive(tap_, small, 1 << 20, {8192});
  EXPECT_EQ(room_.used(), 8000u);
  // That the client sends no more has nobody read what is there.
  Receive(tap_, Frame(Http2Frame::kData, Http2Frame::kEndStream, 1, ""),
          1 << 20, {8192});
  EXPECT_EQ(room_.used(), 8000u);
  Send(tap_, Frame(Http2Frame::kHeaders, 5, 1, "trailers"));
  EXPECT_EQ(room_.used(), 0u);
}

TEST_F(ConnectionTapTest, ACallKeepsNoMoreThanAWindowOfWhatIsWhole) {
  RequestRoom room(uint64_t{1} << 20);
  ConnectionTap tap(room, "uid:1", 1 << 20);
  const auto send = [&](const std::string& bytes) {
    EXPECT_FALSE(Receive(tap, bytes, 1 << 20, {8192}).ended);
  };
  send(std::string(kPreface) + Headers(1));
  send(Message(1, std::string(200000, 'x')).substr(0, 100000));
  EXPECT_EQ(room.used(), 200000u);
  send(Message(1, std::string(200000, 'x')).substr(100000));
  EXPECT_EQ(room.used(), ConnectionTap::kWindowBytes);
  for (int i = 0; i < 100; ++i) send(Message(1, std::string(5000, 'x')));
  EXPECT_EQ(room.used(), ConnectionTap::kWindowBytes);
  // Only what is beyond the window is taken for a longer one.
  send(Message(1, std::string(200000, 'x')).substr(0, 100000));
  EXPECT_EQ(room.used(), 200000u);
}

TEST_F(ConnectionTapTest, ACallWithOneShortMessageTakesNoRoom) {
  std::string calls(kPreface);
  for (uint32_t i = 0; i < 50; ++i) {
    const uint32_t stream = 2 * i + 1;
    calls +=
        Headers(stream) + Frame(Http2Frame::kData, Http2Frame::kEndStream,
                                stream, Prefix(4000) + std::string(4000, 'x'));
  }
  // Whole, and byte by byte.
  for (const size_t piece : {1 << 20, 1}) {
    ConnectionTap tap(room_, "uid:1", kMax);
    const Seen seen = Receive(tap, calls, piece, {8192});
    EXPECT_TRUE(seen.bytes == calls);
    EXPECT_EQ(tap.state().open_calls, 50u);
  }
  EXPECT_EQ(room_.total(), 0u);
  // Nor is one refused where none is left.
  ASSERT_TRUE(room_.Acquire("uid:1", 2 * kMax));
  ConnectionTap tap(room_, "uid:1", kMax);
  EXPECT_TRUE(Receive(tap, calls, 1 << 20, {8192}).bytes == calls);
}

// As the daemon has it: 512 MiB for all, and 256 calls on a connection.
TEST_F(ConnectionTapTest, FiveHundredCallsOfOneCallerMaySendAllTheTime) {
  RequestRoom room(uint64_t{512} << 20);
  std::vector<std::unique_ptr<ConnectionTap>> taps;
  for (int i = 0; i < 2; ++i) {
    taps.push_back(std::make_unique<ConnectionTap>(room, "uid:1", 16 << 20));
    std::string calls(kPreface);
    for (uint32_t j = 0; j < 250; ++j) {
      const uint32_t stream = 2 * j + 1;
      calls += Headers(stream);
      for (int k = 0; k < 5; ++k) {
        calls += Message(stream, std::string(16000, 'x'));
      }
    }
    const Seen seen = Receive(*taps.back(), calls, 1 << 20, {1 << 20});
    EXPECT_TRUE(seen.bytes == calls);
  }
  EXPECT_EQ(room.used(), 500u * ConnectionTap::kWindowBytes);
}

TEST_F(ConnectionTapTest, WithoutRoomOnlyShortMessagesGoBy) {
  ASSERT_TRUE(room_.Acquire("uid:1", 2 * kMax));
  const std::string begin =
      std::string(kPreface) + Headers(1) + Message(1, std::string(4080, 'x'));
  EXPECT_EQ(Receive(tap_, begin, 1 << 20, {8192}).bytes, begin);
  const std::string seen =
      Receive(tap_, Message(1, std::string(4097, 'x')) + Headers(3), 1 << 20,
              {8192})
          .bytes;
  EXPECT_EQ(DataOf(std::string(kPreface) + seen, 1).substr(0, 5),
            Prefix(RefusedMessage::kBytes));
  EXPECT_EQ(seen.substr(seen.size() - Headers(3).size()), Headers(3));

  // Short ones go by: what is typed into a command, for example.
  ConnectionTap other(room_, "uid:1", kMax);
  std::string tiny = begin;
  for (int i = 0; i < 10; ++i) tiny += Message(1, std::string(4096, 'x'));
  EXPECT_TRUE(Receive(other, tiny, 1 << 20, {8192}).bytes == tiny);
  EXPECT_EQ(room_.used(), 2 * kMax);
}

TEST_F(ConnectionTapTest, WhatComesOnRefusedCallsIsBoundedToo) {
  // Two of one caller, while nobody else has any.
  RequestRoom room(0, /*max_refused=*/4);
  const std::string large =
      Frame(Http2Frame::kData, 0, 1, Prefix(kMax) + std::string(5000, 'x'));
  const std::string too_long =
      Frame(Http2Frame::kData, 0, 3, Prefix(kMax + 1) + std::string(99, 'x'));
  ConnectionTap quiet(room, "uid:1", kMax);
  ConnectionTap tap(room, "uid:1", kMax);
  const std::string two =
      std::string(kPreface) + Headers(1) + large + Headers(3) + too_long;
  EXPECT_FALSE(Receive(tap, two, 1 << 20, {8192}).ended);
  ConnectionTap more(room, "uid:1", kMax);
  const std::string one = std::string(kPreface) + Headers(1) + large;
  EXPECT_TRUE(Receive(more, one, 1 << 20, {8192}).ended);
  // No other connection is touched, nor another caller.
  const std::string small =
      std::string(kPreface) + Headers(1) + Message(1, "small");
  EXPECT_EQ(Receive(quiet, small, 1 << 20, {8192}).bytes, small);
  EXPECT_FALSE(
      Receive(tap, Headers(5) + Message(5, "small"), 1 << 20, {8192}).ended);
  ConnectionTap neighbour(room, "uid:2", kMax);
  EXPECT_FALSE(Receive(neighbour, one, 1 << 20, {8192}).ended);
  // One of them is over.
  Send(tap, Frame(Http2Frame::kHeaders, 5, 3, "trailers"));
  ConnectionTap again(room, "uid:1", kMax);
  EXPECT_FALSE(Receive(again, one, 1 << 20, {8192}).ended);
}

TEST_F(ConnectionTapTest, TheMessageThatWaitsLongestIsKnownWhateverMoves) {
  const auto more = [&](uint32_t stream, const std::string& data) {
    absl::SleepFor(absl::Milliseconds(2));
    Receive(tap_, Frame(Http2Frame::kData, 0, stream, data), 1 << 20, {8192});
    return tap_.state().since;
  };
  Receive(tap_, std::string(kPreface) + Headers(1) + Headers(3) + Headers(5),
          1 << 20, {8192});
  const MonotonicTime first = more(1, Prefix(10) + "x");
  const MonotonicTime second = more(3, Prefix(10) + "x");
  EXPECT_EQ(tap_.state().unfinished_since, first);
  const MonotonicTime third = more(1, "x");
  EXPECT_EQ(tap_.state().unfinished_since, second);
  const MonotonicTime fourth = more(5, Prefix(10) + "x");
  more(3, std::string(9, 'x'));
  EXPECT_EQ(tap_.state().unfinished_since, third);
  Send(tap_, Frame(Http2Frame::kHeaders, 5, 1, "trailers"));
  EXPECT_EQ(tap_.state().unfinished_since, fourth);
  // What is refused waits for nothing.
  more(5, std::string(9, 'x') + Prefix(kMax + 1) + std::string(30, 'x'));
  EXPECT_EQ(tap_.state().unfinished_since, MonotonicTime::max());
}

TEST_F(ConnectionTapTest, ItsStateTakesNoLongerWithManyCalls) {
  // The fastest of several rounds of 1000.
  const auto time = [](const ConnectionTap& tap) {
    absl::Duration fastest = absl::InfiniteDuration();
    for (int round = 0; round < 20; ++round) {
      const absl::Time began = absl::Now();
      for (int i = 0; i < 1000; ++i) (void)tap.state();
      fastest = std::min(fastest, absl::Now() - began);
    }
    return fastest;
  };
  std::string calls(kPreface);
  for (uint32_t i = 0; i < 1000; ++i) {
    calls += Headers(2 * i + 1) +
             Frame(Http2Frame::kData, 0, 2 * i + 1, Prefix(10) + "x");
  }
  Receive(tap_, calls, 1 << 20, {8192});
  ASSERT_EQ(tap_.state().open_calls, 1000u);
  ConnectionTap none(room_, "uid:1", kMax);
  // It would be some hundred times as long.
  EXPECT_LT(time(tap_), 20 * time(none));
}

}  // namespace
}  // namespace sandglass::server
