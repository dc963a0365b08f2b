// What gRPC gets to see of a connection, with every way in which its bytes can
// come in pieces.

#include "server/connection_tap.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/connection_shares.h"
#include "server/refused_message.h"
#include "server/request_room.h"

namespace sandglass::server {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr uint32_t kMost = 20000;

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                  std::string_view payload) {
  std::string bytes;
  const auto size = static_cast<uint32_t>(payload.size());
  for (const uint32_t byte :
       {size >> 16, size >> 8, size, uint32_t{type}, uint32_t{flags},
        stream >> 24, stream >> 16, stream >> 8, stream}) {
    bytes.push_back(static_cast<char>(byte));
  }
  bytes.append(payload);
  return bytes;
}

std::string Headers(uint32_t stream) {
  return Frame(Http2Frame::kHeaders, 4, stream, "some headers");
}

std::string Prefix(uint32_t length) {
  std::string bytes(1, '\0');
  for (const uint32_t byte :
       {length >> 24, length >> 16, length >> 8, length}) {
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

// A message in DATA frames of up to `frame_bytes`.
std::string Message(uint32_t stream, std::string_view body,
                    size_t frame_bytes = 16384) {
  const std::string all =
      Prefix(static_cast<uint32_t>(body.size())) + std::string(body);
  std::string frames;
  for (size_t at = 0; at < all.size(); at += frame_bytes) {
    frames += Frame(Http2Frame::kData, 0, stream, all.substr(at, frame_bytes));
  }
  return frames;
}

// The socket: what is there to be received, in pieces of up to `piece`.
struct Wire {
  std::string bytes;
  size_t at = 0;
  size_t piece = 0;
};
Wire wire;

ssize_t ReceiveFromWire(int, msghdr* message, int) {
  size_t left = std::min(wire.piece, wire.bytes.size() - wire.at);
  if (left == 0) {
    errno = EAGAIN;
    return -1;
  }
  ssize_t got = 0;
  for (size_t i = 0; i < message->msg_iovlen && left > 0; ++i) {
    const iovec& part = message->msg_iov[i];
    const size_t size = std::min(left, part.iov_len);
    std::memcpy(part.iov_base, wire.bytes.data() + wire.at, size);
    wire.at += size;
    left -= size;
    got += static_cast<ssize_t>(size);
  }
  return got;
}

ssize_t SendAll(int, const msghdr* message, int) {
  ssize_t sent = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    sent += static_cast<ssize_t>(message->msg_iov[i].iov_len);
  }
  return sent;
}

// Sends as gRPC would.
void Send(ConnectionTap& tap, std::string bytes) {
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  EXPECT_EQ(tap.Send(&SendAll, -1, &message, 0),
            static_cast<ssize_t>(bytes.size()));
}

struct Seen {
  std::string bytes;
  bool ended = false;
};

// What gRPC gets of `bytes` that come in pieces of up to `piece`, into buffers
// of the sizes `buffers`.
Seen Receive(ConnectionTap& tap, const std::string& bytes, size_t piece,
             const std::vector<size_t>& buffers) {
  wire = {bytes, 0, piece};
  Seen seen;
  while (true) {
    std::vector<std::string> parts;
    std::vector<iovec> iov;
    for (const size_t size : buffers) parts.emplace_back(size, '?');
    for (std::string& part : parts) iov.push_back({part.data(), part.size()});
    msghdr message{};
    message.msg_iov = iov.data();
    message.msg_iovlen = iov.size();
    ssize_t got = tap.Receive(&ReceiveFromWire, -1, &message, 0);
    if (got < 0) {
      seen.ended = errno == ECONNRESET;
      return seen;
    }
    for (const std::string& part : parts) {
      const auto size = std::min<size_t>(static_cast<size_t>(got), part.size());
      seen.bytes.append(part, 0, size);
      got -= static_cast<ssize_t>(size);
    }
  }
}

// All that the DATA frames of one stream have.
std::string DataOf(std::string bytes, uint32_t stream) {
  std::string data;
  Http2Frames frames;
  bytes.erase(0, kPreface.size());
  frames.Read(
      bytes.data(), bytes.size(), [](const Http2Frame&, const char*) {},
      [&](const Http2Frame& frame, const char* part, size_t size) {
        if (frame.type == Http2Frame::kData && frame.stream == stream) {
          data.append(part, size);
        }
      });
  return data;
}

class ConnectionTapTest : public ::testing::Test {
 protected:
  RequestRoom room_{4 * uint64_t{kMost}};
  ConnectionTap tap_{room_, "uid:1", kMost};
};

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
  const std::vector<uint32_t> sizes = {0, 1, 19, 20, 21, 4097, 15000, kMost};
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
      ConnectionTap tap(room_, "uid:1", kMost);
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
  const std::string bytes = before +
                            Message(3, std::string(kMost + 1, '\x7f')) +
                            Headers(5) + Message(5, "after");
  for (size_t piece : {1, 2, 3, 7, 11, 24, 100, 4096, 1 << 20}) {
    for (const std::vector<size_t>& buffers :
         {std::vector<size_t>{8192}, {256}, {3, 5, 256}, {65536}}) {
      ConnectionTap tap(room_, "uid:1", kMost);
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
      EXPECT_EQ(decoded->length, kMost + 1);
      EXPECT_EQ(decoded->most, kMost);
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
      Message(1, std::string(kMost + 1, 'x'), /*frame_bytes=*/2);
  EXPECT_TRUE(Receive(tap_, bytes, 1, {8192}).ended);
  // Where all of them come at once it can be.
  ConnectionTap other(room_, "uid:1", kMost);
  EXPECT_FALSE(Receive(other, bytes, bytes.size(), {1 << 20}).ended);
}

TEST_F(ConnectionTapTest, AMessageHasRoomUntilItsCallIsOver) {
  // With the bytes before it, in which its length is.
  constexpr uint64_t kRoom = 12005;
  const auto begin = [&](uint32_t stream) {
    const Seen seen = Receive(
        tap_,
        (stream == 1 ? std::string(kPreface) : "") + Headers(stream) +
            Frame(Http2Frame::kData, 0, stream, Prefix(12000) + "first bytes"),
        1 << 20, {8192});
    EXPECT_FALSE(seen.ended);
    return seen;
  };
  begin(1);
  EXPECT_EQ(room_.used(), kRoom);
  EXPECT_LT(tap_.state().unfinished_since, Monotonic::now());
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
                          Prefix(kMost) + std::string(100, 'x')),
                1 << 20, {8192})
            .bytes;
    return seen.find(Prefix(RefusedMessage::kBytes)) == std::string::npos;
  };
  // One alone has half of what there is for four.
  EXPECT_TRUE(begin(tap_, 1));
  EXPECT_TRUE(begin(tap_, 3));
  EXPECT_FALSE(begin(tap_, 5));
  ConnectionTap same(room_, "uid:1", kMost);
  EXPECT_FALSE(begin(same, 1));
  ConnectionTap other(room_, "uid:2", kMost);
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
    ConnectionTap tap(room_, "uid:1", kMost);
    const Seen seen = Receive(tap, calls, piece, {8192});
    EXPECT_TRUE(seen.bytes == calls);
    EXPECT_EQ(tap.state().open_calls, 50u);
  }
  EXPECT_EQ(room_.total(), 0u);
  // Nor is one refused where none is left.
  ASSERT_TRUE(room_.Take("uid:1", 2 * kMost));
  ConnectionTap tap(room_, "uid:1", kMost);
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
  ASSERT_TRUE(room_.Take("uid:1", 2 * kMost));
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
  ConnectionTap other(room_, "uid:1", kMost);
  std::string tiny = begin;
  for (int i = 0; i < 10; ++i) tiny += Message(1, std::string(4096, 'x'));
  EXPECT_TRUE(Receive(other, tiny, 1 << 20, {8192}).bytes == tiny);
  EXPECT_EQ(room_.used(), 2 * kMost);
}

TEST_F(ConnectionTapTest, WhatComesOnRefusedCallsIsBoundedToo) {
  // Two of one caller, while nobody else has any.
  RequestRoom room(0, /*most_refused=*/4);
  const std::string large =
      Frame(Http2Frame::kData, 0, 1, Prefix(kMost) + std::string(5000, 'x'));
  const std::string too_long =
      Frame(Http2Frame::kData, 0, 3, Prefix(kMost + 1) + std::string(99, 'x'));
  ConnectionTap quiet(room, "uid:1", kMost);
  ConnectionTap tap(room, "uid:1", kMost);
  const std::string two =
      std::string(kPreface) + Headers(1) + large + Headers(3) + too_long;
  EXPECT_FALSE(Receive(tap, two, 1 << 20, {8192}).ended);
  ConnectionTap more(room, "uid:1", kMost);
  const std::string one = std::string(kPreface) + Headers(1) + large;
  EXPECT_TRUE(Receive(more, one, 1 << 20, {8192}).ended);
  // No other connection is touched, nor another caller.
  const std::string small =
      std::string(kPreface) + Headers(1) + Message(1, "small");
  EXPECT_EQ(Receive(quiet, small, 1 << 20, {8192}).bytes, small);
  EXPECT_FALSE(
      Receive(tap, Headers(5) + Message(5, "small"), 1 << 20, {8192}).ended);
  ConnectionTap neighbour(room, "uid:2", kMost);
  EXPECT_FALSE(Receive(neighbour, one, 1 << 20, {8192}).ended);
  // One of them is over.
  Send(tap, Frame(Http2Frame::kHeaders, 5, 3, "trailers"));
  ConnectionTap again(room, "uid:1", kMost);
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
  more(5, std::string(9, 'x') + Prefix(kMost + 1) + std::string(30, 'x'));
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
  ConnectionTap none(room_, "uid:1", kMost);
  // It would be some hundred times as long.
  EXPECT_LT(time(tap_), 20 * time(none));
}

TEST_F(ConnectionTapTest, WhatIsNotHttp2Ends) {
  EXPECT_TRUE(Receive(tap_, "GET / HTTP/1.1\r\n\r\n", 100, {8192}).ended);
}

TEST_F(ConnectionTapTest, HeadersWithoutEndEndIt) {
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
  ConnectionTap large(room_, "uid:1", kMost);
  EXPECT_TRUE(Receive(large, begin + more(3, 16000), 1 << 20, {8192}).ended);
  ConnectionTap many(room_, "uid:1", kMost);
  EXPECT_TRUE(Receive(many, begin + more(9, 0), 1 << 20, {8192}).ended);
}

TEST_F(ConnectionTapTest, WhatBeginsNoCallIsNotKept) {
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
      ConnectionTap tap(room_, "uid:1", kMost);
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
  const RefusedMessage refused = {.length = 0xffffffff, .most = 16 << 20};
  auto bytes = refused.Encode();
  const auto read = RefusedMessage::Decode(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->length, refused.length);
  EXPECT_EQ(read->most, refused.most);
  ++bytes[0];
  EXPECT_FALSE(RefusedMessage::Decode(bytes).has_value());
}

TEST(RequestRoomTest, SharesShrinkAsOthersCome) {
  RequestRoom room(120);
  EXPECT_TRUE(room.Take("a", 60));
  EXPECT_FALSE(room.Take("a", 1));
  EXPECT_TRUE(room.Take("b", 30));
  EXPECT_FALSE(room.Take("b", 1));
  EXPECT_TRUE(room.Take("c", 15));
  EXPECT_FALSE(room.Take("d", 121));
  room.Give("a", 60);
  EXPECT_TRUE(room.Take("b", 15));
  EXPECT_EQ(room.used(), 60u);
  EXPECT_EQ(room.total(), 120u);
}

TEST(RequestRoomTest, RefusedCallsAreSharedInTheSameWay) {
  RequestRoom room(0, /*most_refused=*/4);
  EXPECT_TRUE(room.TakeRefused("a"));
  EXPECT_TRUE(room.TakeRefused("a"));
  EXPECT_FALSE(room.TakeRefused("a"));
  EXPECT_TRUE(room.TakeRefused("b"));
  EXPECT_FALSE(room.TakeRefused("b"));
  room.GiveRefused("a");
  EXPECT_TRUE(room.TakeRefused("c"));
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
