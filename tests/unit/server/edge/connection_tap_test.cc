// What gRPC gets to see of a connection, with every way in which its bytes can
// come in pieces.

#include "server/edge/connection_tap.h"

#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "connection_tap_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/edge/connection_shares.h"
#include "server/edge/refused_message.h"

namespace sandglass::server {
namespace {

// The words of its tests. NOLINTNEXTLINE(google-build-using-namespace)
using namespace tap_fixture;

std::string BegunAndReset(uint32_t first, int calls) {
  std::string bytes;
  for (int i = 0; i < calls; ++i, first += 2) {
    bytes += Headers(first);
    bytes += Frame(Http2Frame::kResetStream, 0, first, std::string(4, '\0'));
  }
  return bytes;
}

std::string WindowUpdate(uint32_t stream, uint32_t bytes) {
  std::string payload;
  for (const uint32_t byte : {bytes >> 24, bytes >> 16, bytes >> 8, bytes}) {
    payload.push_back(static_cast<char>(byte));
  }
  return Frame(Http2Frame::kWindowUpdate, 0, stream, payload);
}

// A client that may send no more doesn't hold its message up.
TEST_F(ConnectionTapTest, AMessageThatWaitsForWindowIsNotUnfinished) {
  RequestRoom room(1 << 20);
  ConnectionTap tap(room, "uid:1", 200'000);
  const std::string all = Message(1, std::string(70'000, 'x'), 5000);
  constexpr size_t kFrame = 5000 + Http2Frame::kHeadBytes;
  const std::string first = all.substr(0, 13 * kFrame);
  const std::string rest_of_window =
      Frame(Http2Frame::kData, 0, 1, std::string(65535 - 13 * 5000, 'x'));
  const auto unfinished = [&] {
    return tap.state().unfinished_since != MonotonicTime::max();
  };
  Receive(tap, std::string(kPreface) + Headers(1) + first, 65536, {65536});
  EXPECT_TRUE(unfinished());
  Receive(tap, rest_of_window, 65536, {65536});
  EXPECT_FALSE(unfinished());
  // In pieces, as a socket may take it.
  const std::string update = WindowUpdate(1, 1000);
  Send(tap, update.substr(0, 11));
  EXPECT_FALSE(unfinished());
  Send(tap, update.substr(11));
  EXPECT_TRUE(unfinished());
  const MonotonicTime since = tap.state().unfinished_since;
  Receive(tap, Frame(Http2Frame::kData, 0, 1, std::string(999, 'x')), 65536,
          {65536});
  EXPECT_TRUE(unfinished());
  EXPECT_GE(tap.state().unfinished_since, since);
  Receive(tap, Frame(Http2Frame::kData, 0, 1, "x"), 65536, {65536});
  EXPECT_FALSE(unfinished());
  // Windows of the connection and of other calls say nothing.
  Send(tap, WindowUpdate(0, 1000) + WindowUpdate(3, 1000));
  EXPECT_FALSE(unfinished());
}

TEST_F(ConnectionTapTest, CallsThatAreResetAtOnceEndTheirConnection) {
  EXPECT_FALSE(Receive(tap_, std::string(kPreface) + BegunAndReset(1, 1024),
                       65536, {65536})
                   .ended);
  EXPECT_TRUE(Receive(tap_, BegunAndReset(2049, 1024), 65536, {65536}).ended);
}

TEST_F(ConnectionTapTest, ManyPingsBetweenAnswersEndTheirConnection) {
  std::string pings;
  for (int i = 0; i < 100; ++i) {
    pings += Frame(Http2Frame::kPing, 0, 0, "12345678");
  }
  EXPECT_FALSE(
      Receive(tap_, std::string(kPreface) + pings, 65536, {65536}).ended);
  // Answers to the daemon's own pings are not among them.
  EXPECT_FALSE(
      Receive(tap_, Frame(Http2Frame::kPing, Http2Frame::kAck, 0, "12345678"),
              65536, {65536})
          .ended);
  Send(tap_, Frame(Http2Frame::kData, 0, 1, "part of an answer"));
  EXPECT_FALSE(Receive(tap_, pings, 65536, {65536}).ended);
  // What the daemon acknowledges is no answer.
  Send(tap_, Frame(Http2Frame::kPing, Http2Frame::kAck, 0, "12345678"));
  EXPECT_TRUE(
      Receive(tap_, Frame(Http2Frame::kPing, 0, 0, "12345678"), 65536, {65536})
          .ended);
}

TEST_F(ConnectionTapTest, ResetsOverTimeAreMadeGood) {
  EXPECT_FALSE(Receive(tap_, std::string(kPreface) + BegunAndReset(1, 1024),
                       65536, {65536})
                   .ended);
  absl::SleepFor(absl::Seconds(1));
  EXPECT_FALSE(Receive(tap_, BegunAndReset(2049, 100), 65536, {65536}).ended);
}

// The daemon resets nothing that has its answer; a client may do so.
TEST_F(ConnectionTapTest, ResetsOfAnsweredCallsDoNotCount) {
  std::string bytes(kPreface);
  for (uint32_t i = 1; i < 6000; i += 2) {
    bytes += Headers(i);
    Receive(tap_, bytes, 65536, {65536});
    Send(tap_, Frame(Http2Frame::kHeaders, 5, i, "trailers"));
    bytes = Frame(Http2Frame::kResetStream, 0, i, std::string(4, '\0'));
  }
  EXPECT_FALSE(Receive(tap_, bytes + Headers(6001), 65536, {65536}).ended);
}

TEST_F(ConnectionTapTest, WhatIsAllowedArrivesAsItWasSentInWhateverPieces) {
  std::mt19937 random(32);
  const std::vector<uint32_t> sizes = {0, 1, 19, 20, 21, 4097, 15000, kMax};
  std::string bytes(kPreface);
  bytes += Frame(Http2Frame::kSettings, 0, 0, "");
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    bytes += Headers(2 * i + 1);
    std::string body(sizes[i], '\0');
    for (char& c : body) c = static_cast<char>(random());
    bytes += Message(2 * i + 1, body, 1 + random() % 6000);
    // A second one on the same stream, as in an upload.
    bytes += Message(2 * i + 1, "more", 1 + random() % 9);
  }
  for (size_t piece : {1, 2, 3, 7, 24, 100, 4096, 1 << 20}) {
    for (const std::vector<size_t>& buffers :
         {std::vector<size_t>{8192}, {1}, {3, 5, 256}, {65536}}) {
      ConnectionTap tap(room_, "uid:1", kMax);
      const Seen seen = Receive(tap, bytes, piece, buffers);
      EXPECT_FALSE(seen.ended);
      EXPECT_TRUE(seen.bytes == bytes) << piece << " " << buffers[0];
      EXPECT_EQ(tap.state().open_calls, sizes.size());
      tap.Close();
      EXPECT_EQ(room_.used(), 0u);
    }
  }
}

TEST_F(ConnectionTapTest, WhatIsTooLongIsReplacedInWhateverPieces) {
  const std::string before =
      std::string(kPreface) + Headers(1) + Message(1, "small") + Headers(3);
  const std::string bytes = before + Message(3, std::string(kMax + 1, '\x7f')) +
                            Headers(5) + Message(5, "after");
  for (size_t piece : {1, 2, 3, 7, 11, 24, 100, 4096, 1 << 20}) {
    for (const std::vector<size_t>& buffers :
         {std::vector<size_t>{8192}, {256}, {3, 5, 256}, {65536}}) {
      ConnectionTap tap(room_, "uid:1", kMax);
      const Seen seen = Receive(tap, bytes, piece, buffers);
      ASSERT_FALSE(seen.ended) << piece << " " << buffers[0];
      ASSERT_EQ(seen.bytes.size(), bytes.size());
      EXPECT_EQ(seen.bytes.substr(0, before.size()), before);
      EXPECT_EQ(DataOf(seen.bytes, 5), Prefix(5) + "after");
      const std::string data = DataOf(seen.bytes, 3);
      ASSERT_EQ(data.substr(0, 5), Prefix(RefusedMessage::kBytes));
      std::array<uint8_t, RefusedMessage::kBytes> refused{};
      std::copy_n(data.begin() + 5, refused.size(), refused.begin());
      const auto decoded = RefusedMessage::Decode(refused);
      ASSERT_TRUE(decoded.has_value());
      EXPECT_EQ(decoded->length, kMax + 1);
      EXPECT_EQ(decoded->max, kMax);
      // No message can begin in the rest.
      EXPECT_EQ(data.find_first_not_of('\2', 5 + RefusedMessage::kBytes),
                std::string::npos);
      EXPECT_EQ(room_.used(), 0u);
    }
  }
}

TEST_F(ConnectionTapTest, AHeadInSeveralFramesThatCantBeReplacedEndsIt) {
  const std::string bytes =
      std::string(kPreface) + Headers(1) +
      Message(1, std::string(kMax + 1, 'x'), /*frame_bytes=*/2);
  EXPECT_TRUE(Receive(tap_, bytes, 1, {8192}).ended);
  // Where all of them come at once it can be.
  ConnectionTap other(room_, "uid:1", kMax);
  EXPECT_FALSE(Receive(other, bytes, bytes.size(), {1 << 20}).ended);
}

TEST_F(ConnectionTapTest, OtherProtocolsEndTheConnection) {
  EXPECT_TRUE(Receive(tap_, "GET / HTTP/1.1\r\n\r\n", 100, {8192}).ended);
}

TEST_F(ConnectionTapTest, EndlessHeadersEndTheConnection) {
  const std::string begin =
      std::string(kPreface) + Frame(Http2Frame::kHeaders, 0, 1, "first");
  const auto more = [](size_t frames, size_t bytes) {
    std::string all;
    for (size_t i = 0; i < frames; ++i) {
      all += Frame(Http2Frame::kContinuation, 0, 1, std::string(bytes, 'h'));
    }
    return all;
  };
  EXPECT_FALSE(Receive(tap_, begin + more(8, 2000), 7, {8192}).ended);
  ConnectionTap large(room_, "uid:1", kMax);
  EXPECT_TRUE(Receive(large, begin + more(3, 16000), 1 << 20, {8192}).ended);
  ConnectionTap many(room_, "uid:1", kMax);
  EXPECT_TRUE(Receive(many, begin + more(9, 0), 1 << 20, {8192}).ended);
}

TEST_F(ConnectionTapTest, FramesThatBeginNoCallAreNotKept) {
  Receive(tap_, std::string(kPreface) + Headers(5), 100, {8192});
  std::string others;
  for (const uint32_t stream : {2, 4, 6, 3, 1}) others += Headers(stream);
  EXPECT_FALSE(Receive(tap_, others, 100, {8192}).ended);
  EXPECT_EQ(tap_.state().open_calls, 1u);
}

TEST_F(ConnectionTapTest, NewCallsAreHiddenAtTheEnd) {
  Receive(tap_, std::string(kPreface) + Headers(1), 100, {8192});
  ConnectionTap::HideNewCalls();
  const std::string of_old = Frame(Http2Frame::kData, 0, 1, Prefix(1) + "x");
  const std::string of_new = Frame(Http2Frame::kHeaders, 0, 3, "new") +
                             Frame(Http2Frame::kContinuation, 4, 3, "rest") +
                             Frame(Http2Frame::kData, 0, 3, Prefix(1) + "y");
  const std::string seen =
      Receive(tap_, of_old + of_new + of_old, 1 << 20, {8192}).bytes;
  ConnectionTap::HideNewCalls(false);
  EXPECT_EQ(seen.substr(0, of_old.size()), of_old);
  EXPECT_EQ(seen.substr(of_old.size() + of_new.size()), of_old);
  // Frames of a type that there is none of are passed over.
  EXPECT_EQ(static_cast<uint8_t>(seen[of_old.size() + 3]), 0xff);
  EXPECT_EQ(static_cast<uint8_t>(
                seen[of_old.size() +
                     Frame(Http2Frame::kHeaders, 0, 3, "new").size() + 3]),
            0xff);
  EXPECT_EQ(tap_.state().open_calls, 1u);
}

TEST_F(ConnectionTapTest, NewCallsAreHiddenAlsoWhereAFramesHeadComesInPieces) {
  const std::string of_new = Frame(Http2Frame::kHeaders, 0, 3, "new") +
                             Frame(Http2Frame::kContinuation, 4, 3, "rest");
  std::string hidden = of_new;
  constexpr char kNoType = '\xff';
  hidden[Http2Frame::kTypeAt] = kNoType;
  hidden[Frame(Http2Frame::kHeaders, 0, 3, "new").size() +
         Http2Frame::kTypeAt] = kNoType;
  for (size_t cut = 1; cut < of_new.size(); ++cut) {
    for (const std::vector<size_t>& buffers :
         {std::vector<size_t>{8192}, {2, 3, 4, 1, 256}}) {
      ConnectionTap tap(room_, "uid:1", kMax);
      Receive(tap, std::string(kPreface) + Headers(1), 100, {8192});
      // Also where the end begins between the two pieces of the head.
      const bool late = cut < Http2Frame::kHeadBytes;
      if (!late) ConnectionTap::HideNewCalls();
      std::string seen =
          Receive(tap, of_new.substr(0, cut), 1 << 20, buffers).bytes;
      ConnectionTap::HideNewCalls();
      seen += Receive(tap, of_new.substr(cut), 1 << 20, buffers).bytes;
      ConnectionTap::HideNewCalls(false);
      EXPECT_TRUE(seen == hidden) << cut << " " << buffers[0];
      EXPECT_EQ(tap.state().open_calls, 1u);
    }
  }
}

TEST_F(ConnectionTapTest, AFramesHeadIsHeldBackUntilItIsWhole) {
  const std::string begin = std::string(kPreface) + Headers(1);
  const std::string next = Frame(Http2Frame::kData, 0, 1, Prefix(1) + "x");
  EXPECT_EQ(Receive(tap_, begin + next.substr(0, 8), 1 << 20, {8192}).bytes,
            begin);
  EXPECT_EQ(Receive(tap_, next.substr(8), 1 << 20, {8192}).bytes, next);
}

TEST(RefusedMessageTest, IsWhatWasWrittenAndNothingElseIsOne) {
  const RefusedMessage refused = {.length = 0xffffffff, .max = 16 << 20};
  auto bytes = refused.Encode();
  const auto read = RefusedMessage::Decode(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->length, refused.length);
  EXPECT_EQ(read->max, refused.max);
  ++bytes[0];
  EXPECT_FALSE(RefusedMessage::Decode(bytes).has_value());
}

TEST(RequestRoomTest, SharesShrinkAsOthersCome) {
  RequestRoom room(120);
  EXPECT_TRUE(room.Acquire("a", 60));
  EXPECT_FALSE(room.Acquire("a", 1));
  EXPECT_TRUE(room.Acquire("b", 30));
  EXPECT_FALSE(room.Acquire("b", 1));
  EXPECT_TRUE(room.Acquire("c", 15));
  EXPECT_FALSE(room.Acquire("d", 121));
  room.Release("a", 60);
  EXPECT_TRUE(room.Acquire("b", 15));
  EXPECT_EQ(room.used(), 60u);
  EXPECT_EQ(room.total(), 120u);
}

TEST(RequestRoomTest, RefusedCallsAreSharedInTheSameWay) {
  RequestRoom room(0, /*max_refused=*/4);
  EXPECT_TRUE(room.AcquireRefused("a"));
  EXPECT_TRUE(room.AcquireRefused("a"));
  EXPECT_FALSE(room.AcquireRefused("a"));
  EXPECT_TRUE(room.AcquireRefused("b"));
  EXPECT_FALSE(room.AcquireRefused("b"));
  room.ReleaseRefused("a");
  EXPECT_TRUE(room.AcquireRefused("c"));
}

TEST(ConnectionSharesTest, NobodyGetsAllAndRootGetsThrough) {
  ConnectionShares shares(12);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(shares.InTheWay("uid:1", false), std::nullopt);
    shares.Add("uid:1");
  }
  EXPECT_EQ(shares.InTheWay("uid:1", false), "uid:1");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(shares.InTheWay("uid:2", false), std::nullopt);
    shares.Add("uid:2");
  }
  EXPECT_EQ(shares.InTheWay("uid:2", false), "uid:2");
  for (const char* one : {"uid:3", "uid:4", "uid:5"}) {
    ASSERT_EQ(shares.InTheWay(one, false), std::nullopt);
    shares.Add(one);
  }
  // None is free: whoever has most is in the way of others.
  EXPECT_EQ(shares.InTheWay("uid:6", false), "uid:1");
  EXPECT_EQ(shares.InTheWay("uid:0", true), std::nullopt);
  shares.Remove("uid:1");
  EXPECT_EQ(shares.InTheWay("uid:6", false), std::nullopt);
}

}  // namespace
}  // namespace sandglass::server
