#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/tcp_socket.h"
#include "server/base/unix_socket.h"
#include "server/edge/acceptor.h"
#include "server/edge/peers.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

TEST(PeerTable, ANumberStandsForOneCallerUntilItsGraceIsOver) {
  PeerTable peers;
  EXPECT_TRUE(peers.Add(1500, User(1)));
  EXPECT_FALSE(peers.Add(1500, User(2)));
  EXPECT_EQ(peers.CallerOf("fd:1500"), User(1));
  peers.MarkClosed(1500, absl::Milliseconds(20));
  peers.Sweep();
  EXPECT_EQ(peers.CallerOf("fd:1500"), User(1));
  absl::SleepFor(absl::Milliseconds(30));
  peers.Sweep();
  EXPECT_EQ(peers.CallerOf("fd:1500"), std::nullopt);
  EXPECT_TRUE(peers.Add(1500, User(2)));
}

TEST(PeerTable, TellsWhoseNumbersMayBeUsedAgainWheneverTheyWereClosed) {
  PeerTable peers;
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(peers.Add(1500 + i, User(static_cast<uid_t>(i))));
  }
  peers.MarkClosed(1504, absl::Hours(1));
  peers.MarkClosed(1503, absl::Milliseconds(2));
  peers.MarkClosed(1502, absl::Milliseconds(1));
  // Closing it once more gives it no other time.
  peers.MarkClosed(1502, absl::Hours(1));
  absl::SleepFor(absl::Milliseconds(5));
  EXPECT_THAT(peers.Sweep(),
              ::testing::UnorderedElementsAre(User(2).name, User(3).name));
  EXPECT_THAT(peers.Sweep(), ::testing::IsEmpty());
  EXPECT_TRUE(peers.Contains(1501));
  EXPECT_FALSE(peers.Contains(1502));
  EXPECT_FALSE(peers.Contains(1503));
  EXPECT_TRUE(peers.Contains(1504));
}

TEST(PeerTable, WhatWasNotAddedIsUnknown) {
  PeerTable peers;
  for (const char* peer : {"", "fd:", "fd:x", "fd:7", "unix:",
                           "ipv4:127.0.0.1:4242", "ipv6:%5B::1%5D:1"}) {
    EXPECT_EQ(peers.CallerOf(peer), std::nullopt) << peer;
  }
}

TEST(PeerTable, CallsFromInsideNameTheirConnection) {
  PeerTable peers;
  const int64_t one = peers.AddInner(User(1));
  const int64_t other = peers.AddInner(User(2));
  EXPECT_NE(one, other);
  const std::string name = absl::StrCat("inner:", one);
  EXPECT_EQ(peers.CallerOf(name), User(1));
  EXPECT_FALSE(peers.Proved(one));
  peers.MarkProved(name);
  EXPECT_TRUE(peers.Proved(one));
  // No descriptor's number stands for one, and the other way round.
  EXPECT_EQ(peers.CallerOf(absl::StrCat("fd:", one)), std::nullopt);
  ASSERT_TRUE(peers.Add(1500, User(3)));
  EXPECT_EQ(peers.CallerOf("inner:1500"), std::nullopt);
  peers.RemoveInner(one);
  EXPECT_EQ(peers.CallerOf(name), std::nullopt);
  EXPECT_NE(peers.AddInner(User(4)), one);
}

class AcceptorTest : public ::testing::Test {
 protected:
  void Start(const Acceptor::Options& options) {
    auto listener = ListenOnUnixSocket({.path = path_,
                                        .mode = 0600,
                                        .owner = ::getuid(),
                                        .group = ::getgid()});
    ASSERT_TRUE(listener.ok()) << listener.status();
    StartOn(*std::move(listener), options);
  }
  void StartOn(os::Fd listener, const Acceptor::Options& options) {
    auto acceptor = Acceptor::Start(
        std::move(listener), peers_, room_,
        [this](int fd) {
          absl::MutexLock lock(&mutex_);
          accepted_.emplace_back(fd);
        },
        options);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }
  os::Fd Connect() {
    os::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0);
    return fd;
  }
  // A connection that came over TLS, from somebody of this name.
  os::Fd Come(const std::string& name) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           0, ends),
              0);
    acceptor_->Offer(os::Fd(ends[0]), {.name = name}, nullptr);
    return os::Fd(ends[1]);
  }
  size_t Accepted() {
    absl::MutexLock lock(&mutex_);
    return accepted_.size();
  }
  int Number(size_t index) {
    absl::MutexLock lock(&mutex_);
    return accepted_[index].get();
  }
  TempDir dir_;
  const std::string path_ = dir_.path() + "/s";
  RequestRoom room_{1 << 20};
  PeerTable peers_;
  absl::Mutex mutex_;
  std::vector<os::Fd> accepted_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, KnowsWhoConnectsAndForgetsThemAfterTheyHaveGone) {
  Start({.number_grace = absl::Milliseconds(1)});
  os::Fd client = Connect();
  ASSERT_TRUE(Eventually([&] { return Accepted() == 1; }));
  const std::string peer = "fd:" + std::to_string(Number(0));
  const auto caller = peers_.CallerOf(peer);
  ASSERT_TRUE(caller.has_value());
  EXPECT_EQ(caller->uid, ::getuid());
  EXPECT_EQ(caller->gid, ::getgid());
  EXPECT_EQ(caller->name, "uid:" + std::to_string(::getuid()));
  client.reset();
  EXPECT_TRUE(Eventually([&] { return !peers_.CallerOf(peer).has_value(); }));
}

TEST_F(AcceptorTest, NumbersRiseAndAreNotUsedAgainSoon) {
  Start({});
  int last = 0;
  for (size_t i = 0; i < 5; ++i) {
    const os::Fd client = Connect();
    ASSERT_TRUE(Eventually([&] { return Accepted() == i + 1; }));
    EXPECT_GT(Number(i), last);
    last = Number(i);
    absl::MutexLock lock(&mutex_);
    accepted_[i] = os::Fd(::dup(0));  // closed, as gRPC would
  }
}

// Reads as gRPC would what there is on an accepted connection.
void ReadAll(int fd) {
  char bytes[4096];
  iovec part{bytes, sizeof(bytes)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  while (::recvmsg(fd, &message, MSG_DONTWAIT) > 0) {
  }
}

bool HasEnded(const os::Fd& client) {
  char byte;
  const ssize_t got = ::recv(client.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

// All that the server says before it ends the connection.
std::string ReadToEnd(const os::Fd& client) {
  std::string said;
  EXPECT_TRUE(Eventually([&] {
    char bytes[256];
    const ssize_t got =
        ::recv(client.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got > 0) said.append(bytes, static_cast<size_t>(got));
    return got == 0;
  }));
  return said;
}

TEST_F(AcceptorTest, TheLongestSilentGiveWayToMoreOfTheSameCaller) {
  // Of which one caller has half.
  Start({.max_connections = 32});
  std::vector<os::Fd> clients;
  for (size_t i = 0; i < 50; ++i) {
    clients.push_back(Connect());
    // One by one, so that it is known which came first.
    ASSERT_TRUE(Eventually([&] { return Accepted() == i + 1; }));
  }
  EXPECT_TRUE(Eventually([&] { return HasEnded(clients[33]); }));
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(HasEnded(clients[i]), i < 34) << i;
  }
}

TEST_F(AcceptorTest, WhoHasCallsOnAllOfItsConnectionsIsToldAndSentAway) {
  Start({.max_connections = 32});
  // The preface and a call's HEADERS, without any.
  constexpr std::string_view kCall(
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\1\4\0\0\0\1", 33);
  std::vector<os::Fd> clients;
  for (size_t i = 0; i < 16; ++i) {
    clients.push_back(Connect());
    ASSERT_TRUE(Eventually([&] { return Accepted() == i + 1; }));
    ASSERT_EQ(::send(clients[i].get(), kCall.data(), kCall.size(), 0),
              static_cast<ssize_t>(kCall.size()));
    ReadAll(Number(i));
  }
  const os::Fd late = Connect();
  const std::string said = ReadToEnd(late);
  EXPECT_THAT(said,
              ::testing::HasSubstr("has its share of the 32 connections"));
  EXPECT_EQ(Accepted(), 16u);
  for (const os::Fd& client : clients) EXPECT_FALSE(HasEnded(client));
  // A place is free again when one goes.
  clients.pop_back();
  EXPECT_TRUE(Eventually([&] {
    const os::Fd again = Connect();
    return Eventually([&] { return Accepted() == 17 || HasEnded(again); }) &&
           Accepted() == 17;
  }));
}

TEST_F(AcceptorTest, NumbersInTheirGraceCountInTheShareOfWhoHadThem) {
  // Of 16 one caller alone has three quarters.
  constexpr size_t kOwn = 12;
  Start(
      {.number_grace = absl::Seconds(3), .max_numbers = 16, .root_numbers = 0});
  const auto come_and_go = [&](size_t before) {
    const os::Fd client = Connect();
    ASSERT_TRUE(Eventually([&] { return Accepted() == before + 1; }));
    absl::MutexLock lock(&mutex_);
    accepted_.back() = os::Fd(::dup(0));  // closed, as gRPC would
  };
  for (size_t i = 0; i < kOwn; ++i) {
    ASSERT_NO_FATAL_FAILURE(come_and_go(i));
  }
  const os::Fd late = Connect();
  EXPECT_THAT(ReadToEnd(late),
              ::testing::HasSubstr("had 12 connections in 3s"));
  EXPECT_EQ(Accepted(), kOwn);
  // It may come again when the first of them may be used again.
  EXPECT_TRUE(Eventually([&] {
    const os::Fd again = Connect();
    char bytes[256];
    EXPECT_TRUE(Eventually([&] {
      return Accepted() == kOwn + 1 ||
             ::recv(again.get(), bytes, sizeof(bytes), MSG_DONTWAIT) == 0;
    }));
    return Accepted() == kOwn + 1;
  }));
}

TEST_F(AcceptorTest, WhoDoesNotSpeakInTimeOrStopsHalfWayEnds) {
  Start({.first_words = absl::Milliseconds(200),
         .message_pause = absl::Milliseconds(200),
         .max_message_bytes = 1 << 20});
  const os::Fd silent = Connect();
  const os::Fd idle = Connect();
  const os::Fd half = Connect();
  ASSERT_TRUE(Eventually([&] { return Accepted() == 3; }));
  constexpr std::string_view kHello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  // A call, and the first of a message's 100,000 bytes.
  const std::string begun("\0\0\0\1\4\0\0\0\1\0\0\6\0\0\0\0\0\1\0\0\1\x86\xa0x",
                          24);
  for (const os::Fd* client : {&idle, &half}) {
    ASSERT_EQ(::send(client->get(), kHello.data(), kHello.size(), 0),
              static_cast<ssize_t>(kHello.size()));
  }
  ASSERT_EQ(::send(half.get(), begun.data(), begun.size(), 0),
            static_cast<ssize_t>(begun.size()));
  for (size_t i = 0; i < 3; ++i) ReadAll(Number(i));
  EXPECT_EQ(room_.used(), 100000u);
  EXPECT_TRUE(Eventually([&] { return HasEnded(silent) && HasEnded(half); }));
  EXPECT_EQ(room_.used(), 0u);
  // Between two calls a client may be silent for as long as it likes.
  EXPECT_FALSE(HasEnded(idle));
}

TEST_F(AcceptorTest, StrangersOfOneNetworkGiveWayToThoseOfOthers) {
  // Strangers have half: 16.
  Start({.max_connections = 32});
  std::vector<os::Fd> many;
  for (size_t i = 0; i < 16; ++i) {
    many.push_back(Come("tls:192.0.2.1"));
    ASSERT_TRUE(Eventually([&] { return Accepted() == i + 1; }));
  }
  // One more of the same has no room.
  const os::Fd more = Come("tls:192.0.2.1");
  EXPECT_THAT(ReadToEnd(more), ::testing::HasSubstr("nobody has proved"));
  EXPECT_EQ(Accepted(), 16u);
  // One who has proved who it is isn't among them any more, though it came
  // first.
  peers_.MarkProved("fd:" + std::to_string(Number(0)));
  std::vector<os::Fd> others;
  for (size_t i = 0; i < 8; ++i) {
    others.push_back(Come("tls:192.0.2.2"));
    ASSERT_TRUE(Eventually([&] { return Accepted() == 17 + i; }));
  }
  EXPECT_FALSE(HasEnded(many[0]));
  for (size_t i = 1; i < 16; ++i) {
    EXPECT_EQ(HasEnded(many[i]), i < 8) << i;
  }
  for (const os::Fd& other : others) EXPECT_FALSE(HasEnded(other));
  // Now both networks have as many.
  const os::Fd late = Come("tls:192.0.2.2");
  EXPECT_THAT(ReadToEnd(late), ::testing::HasSubstr("nobody has proved"));
}

TEST_F(AcceptorTest, OneNetworkOfStrangersLeavesNumbersToOthers) {
  // Strangers have half, 32, of which one network has three quarters.
  Start({.number_grace = absl::Hours(1), .max_numbers = 64, .root_numbers = 0});
  for (size_t i = 0; i < 24; ++i) {
    Come("tls:192.0.2.1");
    ASSERT_TRUE(Eventually([&] { return Accepted() == i + 1; }));
    absl::MutexLock lock(&mutex_);
    accepted_.back() = os::Fd(::dup(0));  // closed, as gRPC would
  }
  const os::Fd more = Come("tls:192.0.2.1");
  EXPECT_THAT(ReadToEnd(more), ::testing::HasSubstr("nobody has proved"));
  const os::Fd other = Come("tls:192.0.2.2");
  EXPECT_TRUE(Eventually([&] { return Accepted() == 25; }));
  EXPECT_FALSE(HasEnded(other));
}

TEST_F(AcceptorTest, AcceptsTcpToo) {
  auto listener = ListenOnTcp("listen", "127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = TcpPortOf(*listener);
  StartOn(*std::move(listener), {});
  const os::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
            0);
  ASSERT_TRUE(Eventually([&] { return Accepted() == 1; }));
  const auto caller = peers_.CallerOf("fd:" + std::to_string(Number(0)));
  ASSERT_TRUE(caller.has_value());
  EXPECT_EQ(caller->name, "tcp:127.0.0.1");
  EXPECT_FALSE(caller->uid.has_value());
  EXPECT_FALSE(caller->SeesAll());
}

TEST_F(AcceptorTest, StoppingClosesTheListenerAndKeepsConnections) {
  Start({});
  const os::Fd client = Connect();
  ASSERT_TRUE(Eventually([&] { return Accepted() == 1; }));
  acceptor_.reset();
  EXPECT_TRUE(peers_.CallerOf("fd:" + std::to_string(Number(0))).has_value());
  const char byte = 'x';
  EXPECT_EQ(::send(client.get(), &byte, 1, MSG_NOSIGNAL), 1);
}

}  // namespace
}  // namespace sandglass::server
