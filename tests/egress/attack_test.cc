// What costs the proxy more than it should: threads that spin, waits without an
// end; and what hides from the policy.

#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/egress/attack_fixture.h"
#include "tests/support/network/world.h"

namespace sandglass::egress {
namespace {

using ::sandglass::testing::ClientHelloFor;
using ::sandglass::testing::Echo;
using ::sandglass::testing::Receive;
using ::sandglass::testing::ReceiveAll;
using ::sandglass::testing::ReceiveUntil;
using ::sandglass::testing::Send;
using ::sandglass::testing::TestServer;
using ::testing::StartsWith;

// The response is whole in the proxy, the program doesn't read it, and has more
// of its request to say.
TEST_F(AttackTest, AnAnswerThatNobodyReadsCostsNothing) {
  TestServer http(80, [](int socket) {
    const std::string head = ReceiveUntil(socket, "\r\n\r\n", 30);
    const size_t size = std::stoul(head.substr(head.find('/') + 1));
    Send(socket, absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", size,
                              "\r\n\r\n", std::string(size, 'a')));
    ReceiveAll(socket, 30);
  });
  Open({.idle = absl::Seconds(2)});
  std::vector<os::Fd> programs;
  for (size_t size = 20'000; size < 380'000; size += 6'000) {
    programs.push_back(jail_.Socket(SOCK_STREAM));
    const int socket = programs.back().get();
    const int small = 4096;
    const int segment = 200;
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    ::setsockopt(socket, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
    const sockaddr_in to = At("127.0.0.1", kProxyPort);
    ASSERT_EQ(::connect(socket, Plain(to), sizeof(to)), 0);
    ASSERT_TRUE(
        Send(socket, PostHead("allowed.test", 1000, absl::StrCat("/", size))));
  }
  absl::SleepFor(absl::Seconds(1));
  for (const os::Fd& program : programs) Send(program.get(), "more");
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_LT(ShareOfSpinning(), kIdleShare);
  // Nor does it go on for ever.
  absl::SleepFor(absl::Milliseconds(2500));
  EXPECT_LT(ShareOfSpinning(), kIdleShare) << "past limits().idle";
}

TEST_F(AttackTest, ALackOfDescriptorsCostsNothing) {
  Open();
  const os::Fd program = jail_.Socket(SOCK_STREAM);
  const auto ticks = [](const std::string& stat) {
    std::istringstream rest(stat.substr(stat.rfind(") ") + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) rest >> skipped;
    long user = 0;
    long system = 0;
    rest >> user >> system;
    return user + system;
  };
  // Of all threads that there are; opened while that can be done.
  std::vector<std::ifstream> stats;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    stats.emplace_back(task.path() / "stat");
  }
  const auto running = [&] {
    std::vector<long> spent;
    for (std::ifstream& file : stats) {
      file.clear();
      file.seekg(0);
      std::string stat;
      std::getline(file, stat);
      spent.push_back(ticks(stat));
    }
    return spent;
  };
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  rlimit low = limit;
  low.rlim_cur = 8;
  const std::vector<long> before = running();
  ::setrlimit(RLIMIT_NOFILE, &low);
  const sockaddr_in to = At("127.0.0.1", kProxyPort);
  EXPECT_EQ(::connect(program.get(), Plain(to), sizeof(to)), 0);
  absl::SleepFor(absl::Seconds(2));
  const std::vector<long> after = running();
  ::setrlimit(RLIMIT_NOFILE, &limit);
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_LT(after[i] - before[i], 20) << "ticks of thread " << i;
  }
  Send(program.get(), GetHead("other.test"));
  EXPECT_THAT(ReceiveAll(program.get()), StartsWith("HTTP/1.1 403 "));
}

// splice(2) stops at urgent data (tcp(7)), poll(2) goes on to say POLLIN.
TEST_F(AttackTest, UrgentDataStopsNoTunnel) {
  TestServer tls(443, Echo);
  Open();
  const os::Fd program = Tunnel("allowed.test:443");
  const std::string hello = ClientHelloFor("allowed.test");
  ASSERT_TRUE(Send(program.get(), hello));
  ASSERT_EQ(Receive(program.get(), hello.size()), hello);
  ASSERT_EQ(::send(program.get(), "u", 1, MSG_OOB), 1);
  ASSERT_TRUE(Send(program.get(), "more"));
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_LT(ShareOfSpinning(), kIdleShare);
  EXPECT_THAT(Receive(program.get(), 5, 2), ::testing::EndsWith("more"));
}

TEST_F(AttackTest, UrgentDataOfAServerStopsNoTunnel) {
  TestServer tls(443, [](int socket) {
    Receive(socket, 1);
    ::send(socket, "u", 1, MSG_OOB);
    Send(socket, "more");
    ReceiveAll(socket, 30);
  });
  Open();
  const os::Fd program = Tunnel("allowed.test:443");
  ASSERT_TRUE(Send(program.get(), ClientHelloFor("allowed.test")));
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_LT(ShareOfSpinning(), kIdleShare);
  EXPECT_THAT(Receive(program.get(), 5, 2), ::testing::EndsWith("more"));
}

TEST_F(AttackTest, NoIdleLimitIsNoBusyLoop) {
  TestServer tls(443, Echo);
  Open({.idle = absl::InfiniteDuration()});
  const os::Fd program = Tunnel("allowed.test:443");
  ASSERT_TRUE(Send(program.get(), ClientHelloFor("allowed.test")));
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_LT(ShareOfSpinning(), kIdleShare);
}

// The profile wants to see what inspected.test is asked.
TEST_F(AttackTest, ATunnelToAnAddressHidesNoInspectedName) {
  TestServer tls(443, Echo);
  Open();
  const os::Fd by_name = Ask();
  Send(by_name.get(),
       "CONNECT inspected.test:443 HTTP/1.1\r\n"
       "Host: inspected.test:443\r\n\r\n");
  EXPECT_THAT(ReceiveAll(by_name.get()), StartsWith("HTTP/1.1 403 "));
  const os::Fd program = Tunnel("93.184.216.50:443");
  ASSERT_TRUE(Send(program.get(), ClientHelloFor("inspected.test")));
  EXPECT_EQ(ReceiveAll(program.get(), 2),
            std::string("\x15\x03\x03\x00\x02\x02\x70", 7));
}

// accept4(2) has no flag for one call: a listener that waits holds up the loop,
// and with it all jails.
TEST_F(AttackTest, AListenerThatWaitsHoldsUpNobody) {
  os::Fd listener = jail_.Socket(SOCK_STREAM);
  const sockaddr_in at = At("0.0.0.0", kProxyPort);
  ASSERT_EQ(::bind(listener.get(), Plain(at), sizeof(at)), 0);
  ASSERT_EQ(::listen(listener.get(), 16), 0);
  OpenWith(std::move(listener));
  os::Fd first = Ask();
  absl::SleepFor(absl::Milliseconds(300));
  std::future<LeaseUsage> closed =
      std::async(std::launch::async, [this] { return Close(); });
  EXPECT_EQ(closed.wait_for(std::chrono::seconds(3)),
            std::future_status::ready);
  while (closed.wait_for(std::chrono::milliseconds(200)) !=
         std::future_status::ready) {
    first = Ask();
  }
}

// Whoever made the listener may have it open, too, and shut it down.
TEST_F(AttackTest, AListenerThatWasShutCostsNothing) {
  os::Fd listener = jail_.Listener(kProxyPort);
  const os::Fd kept(::dup(listener.get()));
  OpenWith(std::move(listener));
  ::shutdown(kept.get(), SHUT_RDWR);
  EXPECT_LT(ShareOfSpinning(), kIdleShare);
}

}  // namespace
}  // namespace sandglass::egress
