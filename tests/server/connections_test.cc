#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/acceptor.h"
#include "server/peers.h"
#include "server/unix_socket.h"
#include "support.h"

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

TEST(PeerTable, LoopbackTcpIsNamelessAndTheRestUnknown) {
  PeerTable peers;
  EXPECT_EQ(peers.CallerOf("ipv4:127.0.0.1:4242")->name, "tcp:127.0.0.1");
  EXPECT_FALSE(peers.CallerOf("ipv4:127.0.0.1:4242")->SeesAll());
  EXPECT_EQ(peers.CallerOf("ipv6:%5B::1%5D:4242")->name, "tcp:[::1]");
  for (const char* peer : {"", "fd:", "fd:x", "fd:7",
                           "unix:", "ipv4:10.0.0.1:1", "ipv6:[::2]:1"}) {
    EXPECT_EQ(peers.CallerOf(peer), std::nullopt) << peer;
  }
}

class AcceptorTest : public ::testing::Test {
 protected:
  void Start(uint32_t max_connections, absl::Duration grace) {
    auto listener = ListenOnUnixSocket({.path = path_,
                                        .mode = 0600,
                                        .owner = ::getuid(),
                                        .group = ::getgid()});
    ASSERT_TRUE(listener.ok()) << listener.status();
    auto acceptor = Acceptor::Start(
        *std::move(listener), peers_,
        [this](int fd) {
          absl::MutexLock lock(&mutex_);
          accepted_.emplace_back(fd);
        },
        {.max_connections = max_connections, .number_grace = grace});
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
  PeerTable peers_;
  absl::Mutex mutex_;
  std::vector<os::Fd> accepted_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, KnowsWhoConnectsAndForgetsThemAfterTheyHaveGone) {
  Start(10, absl::Milliseconds(1));
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
  Start(10, absl::Minutes(1));
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

TEST_F(AcceptorTest, TooManyConnectionsWaitUntilOneGoes) {
  Start(2, absl::Minutes(1));
  os::Fd first = Connect();
  const os::Fd second = Connect();
  const os::Fd third = Connect();
  ASSERT_TRUE(Eventually([&] { return Accepted() == 2; }));
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_EQ(Accepted(), 2u);
  first.reset();
  EXPECT_TRUE(Eventually([&] { return Accepted() == 3; }));
}

TEST_F(AcceptorTest, StoppingClosesTheDoorAndKeepsConnections) {
  Start(10, absl::Minutes(1));
  const os::Fd client = Connect();
  ASSERT_TRUE(Eventually([&] { return Accepted() == 1; }));
  acceptor_.reset();
  EXPECT_TRUE(peers_.CallerOf("fd:" + std::to_string(Number(0))).has_value());
  const char byte = 'x';
  EXPECT_EQ(::send(client.get(), &byte, 1, MSG_NOSIGNAL), 1);
}

}  // namespace
}  // namespace sandglass::server
