#include "server/metrics/metrics_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/tcp_socket.h"

namespace sandglass::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class MetricsServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = ListenOnTcp("metrics.listen", "127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status();
    port_ = TcpPortOf(*listener);
    auto server = MetricsServer::Start(*std::move(listener), [this] {
      ++asked_;
      return std::string(bytes_, 'm') + "end\n";
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  os::Fd Connect() const {
    os::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
                 sizeof(patience));
    return fd;
  }
  static void Say(const os::Fd& fd, std::string_view text) {
    ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  static std::string Hear(const os::Fd& fd) {
    std::string all;
    char bytes[65536];
    ssize_t got;
    while ((got = ::recv(fd.get(), bytes, sizeof(bytes), 0)) > 0) {
      all.append(bytes, static_cast<size_t>(got));
    }
    return all;
  }
  std::string Ask(std::string_view request) const {
    const os::Fd fd = Connect();
    Say(fd, request);
    return Hear(fd);
  }

  int port_ = 0;
  std::atomic<int> asked_ = 0;
  std::atomic<size_t> bytes_ = 300000;
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, AnswersKnownPaths) {
  const std::string answer =
      Ask("GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 300004\r\n"));
  EXPECT_THAT(answer, EndsWith("mmend\n"));
  EXPECT_THAT(Ask("GET /metrics?x=1 HTTP/1.0\n\n"), EndsWith("mmend\n"));
  EXPECT_THAT(Ask("HEAD /metrics HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(Ask("GET /../etc/passwd HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("POST /metrics HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(std::string(8192, 'x')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsServerTest, ServesBesideAnyNumberOfSilentOnes) {
  std::vector<os::Fd> silent;
  for (int i = 0; i < 400; ++i) {
    silent.push_back(Connect());
    // Also those that begin and don't go on, and that don't read.
    if (i % 3 == 1) Say(silent.back(), "GET /metr");
    if (i % 3 == 2) Say(silent.back(), "GET /metrics HTTP/1.1\r\n\r\n");
  }
  const absl::Time began = absl::Now();
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\n\r\n"), EndsWith("mmend\n"));
  // It is milliseconds; with a wait for silent ones to go it would be many
  // seconds.
  EXPECT_LT(absl::Now() - began, absl::Seconds(5));
}

// They connect in a burst, as scrapers of one interval do.
TEST_F(MetricsServerTest, ThoseWhoDoNotReadGiveWayBeforeThoseWhoCome) {
  bytes_ = 2 << 20;  // more than the kernel keeps for those who don't read
  std::vector<os::Fd> deaf;
  for (int i = 0; i < 200; ++i) {
    deaf.push_back(Connect());
    constexpr int kLittle = 4096;
    ::setsockopt(deaf.back().get(), SOL_SOCKET, SO_RCVBUF, &kLittle,
                 sizeof(kLittle));
    Say(deaf.back(), "GET /metrics HTTP/1.1\r\n\r\n");
  }
  while (asked_ < 128) absl::SleepFor(absl::Milliseconds(1));
  bytes_ = 300000;
  std::vector<os::Fd> scrapers;
  scrapers.reserve(100);
  for (int i = 0; i < 100; ++i) scrapers.push_back(Connect());
  for (const os::Fd& scraper : scrapers) {
    Say(scraper, "GET /metrics HTTP/1.1\r\n\r\n");
  }
  for (const os::Fd& scraper : scrapers) {
    EXPECT_THAT(Hear(scraper), EndsWith("mmend\n"));
  }
}

TEST_F(MetricsServerTest, StopsBesideSilentConnections) {
  const os::Fd silent = Connect();
  server_.reset();
  EXPECT_EQ(Hear(silent), "");
}

}  // namespace
}  // namespace sandglass::server
