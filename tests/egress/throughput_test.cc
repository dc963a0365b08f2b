// How much a tunnel costs, against the same bytes without one.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/proxy.h"
#include "tests/support/network/world.h"

namespace sandglass::egress {
namespace {

using ::sandglass::testing::ClientHelloFor;
using ::sandglass::testing::JailNet;
using ::sandglass::testing::Receive;
using ::sandglass::testing::ReceiveUntil;
using ::sandglass::testing::Send;
using ::sandglass::testing::TestNames;
using ::sandglass::testing::TestServer;

constexpr size_t kBytes = size_t{1} << 30;
constexpr size_t kPiece = size_t{256} << 10;

// Reads a hello and sends a gibibyte.
void ServeMany(int socket) {
  Receive(socket, 1, 30);
  const std::string piece(kPiece, 'x');
  for (size_t sent = 0; sent < kBytes; sent += kPiece) {
    if (!Send(socket, piece)) return;
  }
}

double SecondsToDrain(int socket) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  const absl::Time start = absl::Now();
  for (size_t got = 0; got < kBytes;) {
    const ssize_t size = ::recv(socket, buffer.get(), kPiece, 0);
    if (size <= 0) return 1e9;
    got += static_cast<size_t>(size);
  }
  return absl::ToDoubleSeconds(absl::Now() - start);
}

// In turns, the best of three: others use the machine, too.
TEST(Throughput, ATunnelIsNotMuchSlowerThanNone) {
  const std::map<std::string, std::vector<std::string>> known = {
      {"allowed.test", {"93.184.216.34"}}};
  const TestNames names(known);
  const TestServer server(443, ServeMany);
  const JailNet jail;
  ASSERT_TRUE(jail.valid()) << "needs root: network namespaces";
  policy::NetworkPolicy policy;
  policy.hosts.push_back({.host = *policy::HostPattern::Parse("allowed.test")});
  auto resolver = Resolver::Create({"127.0.0.1"});
  ASSERT_TRUE(resolver.ok());
  auto proxy = Proxy::Start(*std::move(resolver));
  ASSERT_TRUE(proxy.ok());
  JailSockets sockets;
  sockets.proxy = jail.Listener(3128);
  ASSERT_TRUE((*proxy)
                  ->Open(1,
                         std::make_shared<const policy::NetworkPolicy>(policy),
                         {.bytes = 8 * kBytes}, std::move(sockets))
                  .ok());
  const std::string hello = ClientHelloFor("allowed.test");
  double direct = 1e9;
  double tunnelled = 1e9;
  for (int i = 0; i < 3; ++i) {
    const os::Fd straight = testing::ConnectInWorld("93.184.216.34", 443);
    ASSERT_TRUE(Send(straight.get(), hello));
    direct = std::min(direct, SecondsToDrain(straight.get()));
    const os::Fd tunnel = jail.ConnectTo("127.0.0.1", 3128);
    ASSERT_TRUE(Send(tunnel.get(),
                     "CONNECT allowed.test:443 HTTP/1.1\r\n"
                     "Host: allowed.test:443\r\n\r\n"));
    ReceiveUntil(tunnel.get(), "\r\n\r\n");
    ASSERT_TRUE(Send(tunnel.get(), hello));
    tunnelled = std::min(tunnelled, SecondsToDrain(tunnel.get()));
  }
  std::printf("a gibibyte: %.2f s without, %.2f s with a tunnel: %.2f\n",
              direct, tunnelled, direct / tunnelled);
  EXPECT_GT(direct / tunnelled, 0.1);
}

}  // namespace
}  // namespace sandglass::egress
