// The proxy between a jail's network namespace and a world of the test's own.

#include "sandbox/egress/proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/parse/dns_message.h"
#include "tests/support/network/world.h"

namespace sandglass::egress {
namespace {

using ::sandglass::testing::ClientHelloFor;
using ::sandglass::testing::Echo;
using ::sandglass::testing::JailNet;
using ::sandglass::testing::Receive;
using ::sandglass::testing::ReceiveAll;
using ::sandglass::testing::ReceiveUntil;
using ::sandglass::testing::Send;
using ::sandglass::testing::TestNames;
using ::sandglass::testing::TestServer;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr uint16_t kProxyPort = 3128;
constexpr uint64_t kJail = 1;

policy::AllowedHost Host(std::string_view pattern,
                         std::vector<policy::PortRange> ports = {{80, 80},
                                                                 {443, 443}},
                         std::vector<std::string> methods = {}) {
  return {.host = *policy::HostPattern::Parse(pattern),
          .ports = std::move(ports),
          .methods = std::move(methods)};
}

// Answers each request with what it was sent, head and all; "/close" ends the
// connection without a word, "/big" is 8 MiB.
void ServeHttp(int socket) {
  for (;;) {
    const std::string head = ReceiveUntil(socket, "\r\n\r\n", 30);
    if (head.empty() || absl::StrContains(head, " /close ")) return;
    std::string body = head;
    if (absl::StrContains(head, "Content-Length: ")) {
      const size_t at = head.find("Content-Length: ") + 16;
      body += Receive(socket, std::stoul(head.substr(at)));
    } else if (absl::StrContains(head, "Transfer-Encoding: chunked")) {
      body += ReceiveUntil(socket, "\r\n0\r\n\r\n");
    }
    if (absl::StrContains(head, " /big ")) body = std::string(8 << 20, 'b');
    if (!Send(socket, absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ",
                                   body.size(), "\r\n\r\n", body))) {
      return;
    }
  }
}

class ProxyTest : public ::testing::Test {
 protected:
  ProxyTest()
      : names_({{"allowed.test", {"93.184.216.34"}},
                {"deep.of.suffix.test", {"93.184.216.35"}},
                {"methods.test", {"93.184.216.36"}},
                {"other.test", {"93.184.216.37"}},
                {"inner.test", {"10.0.0.1"}},
                {"metadata.test", {"169.254.169.254"}},
                {"here.test", {"127.0.0.1"}},
                {"turns.test", {"93.184.216.34", "127.0.0.1"}},
                {"refuses.test", {"93.184.216.40"}}}),
        http_(80, ServeHttp),
        tls_(443, Echo) {}

  void SetUp() override {
    ASSERT_TRUE(jail_.valid()) << "needs root: network namespaces";
    policy_.profile = "p";
    policy_.hosts = {Host("allowed.test"),
                     Host("*.suffix.test"),
                     Host("methods.test", {{80, 80}}, {"GET", "HEAD"}),
                     Host("inner.test"),
                     Host("metadata.test"),
                     Host("here.test"),
                     Host("turns.test"),
                     Host("refuses.test", {{81, 81}}),
                     Host("missing.test"),
                     Host("93.184.216.50")};
    ASSERT_TRUE(policy::Check(policy_).ok()) << policy::Check(policy_);
    auto resolver = Resolver::Create({"127.0.0.1"});
    ASSERT_TRUE(resolver.ok()) << resolver.status();
    auto proxy = Proxy::Start(*std::move(resolver));
    ASSERT_TRUE(proxy.ok()) << proxy.status();
    proxy_ = *std::move(proxy);
  }

  void Open(const LeaseLimits& limits = {}) {
    JailSockets sockets;
    sockets.proxy = jail_.Listener(kProxyPort);
    sockets.ports.push_back(jail_.Listener(80));
    sockets.ports.push_back(jail_.Listener(443));
    sockets.dns = jail_.DnsSocket();
    ASSERT_TRUE(
        proxy_
            ->Open(kJail,
                   std::make_shared<const policy::NetworkPolicy>(policy_),
                   limits, std::move(sockets))
            .ok());
  }
  LeaseUsage Close() {
    const absl::StatusOr<LeaseUsage> usage = proxy_->Close(kJail);
    EXPECT_TRUE(usage.ok()) << usage.status();
    return usage.value_or(LeaseUsage());
  }

  os::Fd Ask() { return jail_.ConnectTo("127.0.0.1", kProxyPort); }
  // One request on a connection of its own, and all that came back.
  std::string Said(std::string_view request) {
    const os::Fd socket = Ask();
    EXPECT_TRUE(Send(socket.get(), request));
    return ReceiveAll(socket.get());
  }
  std::string Get(const std::string& url, const std::string& host) {
    return Said(absl::StrCat("GET ", url, " HTTP/1.1\r\nHost: ", host,
                             "\r\nConnection: close\r\n\r\n"));
  }
  // A tunnel that stands; its answer's first line otherwise.
  os::Fd Tunnel(const std::string& authority, std::string* answer = nullptr) {
    os::Fd socket = Ask();
    Send(socket.get(),
         absl::StrCat("CONNECT ", authority, " HTTP/1.1\r\nHost: ", authority,
                      "\r\n\r\n"));
    const std::string said = ReceiveUntil(socket.get(), "\r\n\r\n");
    if (answer != nullptr) *answer = said;
    return socket;
  }
  std::string Lookup(std::string_view name, uint16_t type = kDnsTypeA) {
    return testing::LookUp(jail_, name, type);
  }

  policy::NetworkPolicy policy_;
  JailNet jail_;
  TestNames names_;
  TestServer http_;
  TestServer tls_;
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(ProxyTest, APageIsFetchedByUrl) {
  Open();
  const std::string said = Said(
      "GET http://Allowed.test./a?b=c HTTP/1.1\r\nHost: allowed.test.\r\n"
      "Proxy-Authorization: secret\r\nX-Own: kept\r\nConnection: x-drop\r\n"
      "X-Drop: 1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(said, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(said, HasSubstr("GET /a?b=c HTTP/1.1\r\n"));
  EXPECT_THAT(said, HasSubstr("X-Own: kept\r\n"));
  EXPECT_THAT(said, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("X-Drop"))));
  const LeaseUsage usage = Close();
  EXPECT_EQ(usage.connections, 1u);
  EXPECT_EQ(usage.refused, 0u);
  EXPECT_GT(usage.bytes_down, 50u);
  EXPECT_GT(usage.bytes_up, 50u);
}

TEST_F(ProxyTest, AConnectionServesManyRequestsToMoreThanOneHost) {
  Open();
  const os::Fd socket = Ask();
  for (const char* host : {"allowed.test", "allowed.test",
                           "deep.of.suffix.test", "allowed.test"}) {
    ASSERT_TRUE(Send(socket.get(),
                     absl::StrCat("POST http://", host, "/p HTTP/1.1\r\nHost: ",
                                  host, "\r\nContent-Length: 4\r\n\r\nbody")));
    EXPECT_THAT(ReceiveUntil(socket.get(), "\r\n\r\nbody"),
                AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(host)));
  }
  // The second one went the way of the first.
  EXPECT_EQ(http_.connections(), 3);
}

TEST_F(ProxyTest, BodiesGoBothWaysWhole) {
  Open();
  std::string body;
  std::string chunks;
  for (int i = 1; i <= 300; ++i) {
    const std::string piece(i * 7, static_cast<char>('a' + i % 26));
    body += piece;
    absl::StrAppend(&chunks, absl::Hex(piece.size()), ";x=y\r\n", piece,
                    "\r\n");
  }
  const std::string said = Said(absl::StrCat(
      "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n"
      "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
      chunks, "0\r\nTrailer: dropped\r\n\r\n"));
  EXPECT_THAT(said, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(said, AllOf(Not(HasSubstr("x=y")), Not(HasSubstr("dropped"))));
  std::string sent;
  for (size_t at = said.find("\r\n\r\n", said.find("\r\n\r\n") + 4) + 4;
       at < said.size();) {
    const size_t size = std::stoul(said.substr(at), nullptr, 16);
    at = said.find("\r\n", at) + 2;
    sent += said.substr(at, size);
    at += size + 2;
    if (size == 0) break;
  }
  EXPECT_TRUE(sent == body) << sent.size() << " of " << body.size();

  const std::string big = Get("http://allowed.test/big", "allowed.test");
  EXPECT_EQ(big.size() - big.find("\r\n\r\n") - 4, size_t{8} << 20);
}

TEST_F(ProxyTest, WhatIsNotAllowedIsRefusedWithTheRule) {
  Open();
  EXPECT_THAT(Get("http://other.test/", "other.test"),
              AllOf(StartsWith("HTTP/1.1 403 "),
                    HasSubstr("\"other.test\" isn't in profile \"p\"'s")));
  EXPECT_THAT(Get("http://allowed.test:8080/", "allowed.test:8080"),
              AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("80")));
  EXPECT_THAT(Get("http://suffix.test/", "suffix.test"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Said("DELETE http://methods.test/ HTTP/1.1\r\nHost: methods.test"
                   "\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("DELETE")));
  EXPECT_THAT(Get("http://methods.test/", "methods.test"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(http_.connections(), 1);
  const LeaseUsage usage = Close();
  EXPECT_EQ(usage.refused, 4u);
  EXPECT_THAT(usage.refusals,
              Contains(Field(&Refusal::target, "other.test:80")));
}

TEST_F(ProxyTest, NoNameLeadsToAnInnerAddress) {
  Open();
  for (const char* host : {"inner.test", "metadata.test", "here.test"}) {
    EXPECT_THAT(Get(absl::StrCat("http://", host, "/"), host),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("resolves to")))
        << host;
    std::string answer;
    Tunnel(absl::StrCat(host, ":443"), &answer);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 ")) << host;
  }
  // One that means this host every second time.
  int reached = 0;
  for (int i = 0; i < 6; ++i) {
    const std::string said = Get("http://turns.test/", "turns.test");
    if (absl::StartsWith(said, "HTTP/1.1 200 ")) {
      ++reached;
    } else {
      EXPECT_THAT(said, StartsWith("HTTP/1.1 403 "));
    }
  }
  EXPECT_EQ(reached, 3);
  EXPECT_EQ(http_.connections(), 3);
  EXPECT_EQ(tls_.connections(), 0);
}

TEST_F(ProxyTest, NoWayOfWritingAnAddressGetsThrough) {
  Open();
  for (const char* host : {"127.0.0.1",
                           "127.1",
                           "2130706433",
                           "0x7f000001",
                           "0177.0.0.1",
                           "localhost",
                           "localhost.",
                           "foo.localhost",
                           "[::1]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:7f00:1]",
                           "[64:ff9b::7f00:1]",
                           "169.254.169.254",
                           "10.0.0.1",
                           "0.0.0.0",
                           "0",
                           "allowed.test%00.x",
                           "allowed.test@127.0.0.1",
                           "xn--/",
                           "93.184.216.51",
                           "1.1.1.1.nip.io"}) {
    SCOPED_TRACE(host);
    EXPECT_THAT(Get(absl::StrCat("http://", host, "/"), host),
                ::testing::AnyOf(StartsWith("HTTP/1.1 400 "),
                                 StartsWith("HTTP/1.1 403 ")));
    std::string answer;
    Tunnel(absl::StrCat(host, ":80"), &answer);
    EXPECT_THAT(answer, ::testing::AnyOf(StartsWith("HTTP/1.1 400 "),
                                         StartsWith("HTTP/1.1 403 ")));
  }
  EXPECT_EQ(http_.connections(), 0);
  // One that the profile names.
  EXPECT_THAT(Get("http://93.184.216.50/", "93.184.216.50"),
              StartsWith("HTTP/1.1 200 "));
}

TEST_F(ProxyTest, ATunnelIsForTheServerThatItsTlsNames) {
  Open();
  const os::Fd good = Tunnel("allowed.test:443");
  const std::string hello = ClientHelloFor("allowed.test");
  ASSERT_GT(hello.size(), 100u);
  ASSERT_TRUE(Send(good.get(), hello));
  EXPECT_EQ(Receive(good.get(), hello.size()), hello);
  ASSERT_TRUE(Send(good.get(), "more"));
  EXPECT_EQ(Receive(good.get(), 4), "more");
  // An end goes through, and what comes back still arrives.
  ASSERT_TRUE(Send(good.get(), "last"));
  ::shutdown(good.get(), SHUT_WR);
  EXPECT_EQ(ReceiveAll(good.get()), "last");

  const std::string alert("\x15\x03\x03\x00\x02\x02\x70", 7);
  for (const char* name : {"other.test", "", "deep.of.suffix.test"}) {
    const os::Fd bad = Tunnel("allowed.test:443");
    ASSERT_TRUE(Send(bad.get(), ClientHelloFor(name)));
    EXPECT_EQ(ReceiveAll(bad.get()), alert) << name;
  }
  const os::Fd plain = Tunnel("allowed.test:443");
  ASSERT_TRUE(Send(plain.get(), "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"));
  EXPECT_EQ(ReceiveAll(plain.get()), "");
  std::string answer;
  Tunnel("methods.test:80", &answer);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Close().refusals,
              Contains(Field(&Refusal::words,
                             HasSubstr("the TLS hello is for other"))));
}

TEST_F(ProxyTest, NamesHaveAddressesThatLeadToTheirServers) {
  Open();
  const std::string allowed = Lookup("allowed.test");
  EXPECT_THAT(allowed, StartsWith("127.64."));
  EXPECT_EQ(Lookup("ALLOWED.test"), allowed);
  const std::string deep = Lookup("deep.of.suffix.test");
  EXPECT_THAT(deep, AllOf(StartsWith("127.64."), Not(allowed)));
  EXPECT_EQ(Lookup("allowed.test", kDnsTypeAaaa), "none");
  for (const char* name : {"other.test", "suffix.test", "localhost", "test"}) {
    EXPECT_EQ(Lookup(name), "code 3") << name;
  }
  EXPECT_EQ(names_.queries(), 0);

  const auto at = [&](const std::string& address, uint16_t port,
                      const std::string& text) {
    const os::Fd socket = jail_.ConnectTo(address, port);
    EXPECT_TRUE(Send(socket.get(), text));
    return ReceiveAll(socket.get(), 3);
  };
  EXPECT_THAT(at(allowed, 80,
                 "GET /x HTTP/1.1\r\nHost: allowed.test\r\n"
                 "Connection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("GET /x ")));
  EXPECT_THAT(
      at(allowed, 80, "GET /x HTTP/1.1\r\nHost: deep.of.suffix.test\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("stands for")));
  const std::string hello = ClientHelloFor("deep.of.suffix.test");
  EXPECT_EQ(at(deep, 443, hello), hello);
  EXPECT_EQ(at(allowed, 443, hello).size(), 7u);
  // Those that stand for nothing are closed at once.
  EXPECT_EQ(at("127.64.200.200", 80, ""), "");
  EXPECT_EQ(at("127.0.0.1", 80, ""), "");
  EXPECT_EQ(http_.connections(), 1);
  EXPECT_EQ(tls_.connections(), 1);
}

TEST_F(ProxyTest, AServerThatDoesNotAnswerIsReported) {
  Open();
  EXPECT_THAT(Get("http://missing.test/", "missing.test"),
              AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("missing.test")));
  EXPECT_THAT(Get("http://refuses.test:81/", "refuses.test:81"),
              AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("refused")));
  EXPECT_THAT(Get("http://allowed.test/close", "allowed.test"),
              AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("closed")));
  EXPECT_THAT(Said("GET http://allowed.test/ HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
}

TEST_F(ProxyTest, AJailsBytesAndConnectionsAreBounded) {
  Open({.connections_at_once = 3, .bytes = 1 << 20});
  EXPECT_LT(Get("http://allowed.test/big", "allowed.test").size(),
            size_t{1} << 20);
  // A byte is still there for others.
  std::vector<os::Fd> idle;
  idle.reserve(8);
  for (int i = 0; i < 8; ++i) idle.push_back(Ask());
  const auto closed = [&] {
    return std::count_if(idle.begin(), idle.end(), [](const os::Fd& socket) {
      pollfd fd = {socket.get(), 0, 0};
      return ::poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR) != 0;
    });
  };
  for (int i = 0; i < 200 && closed() < 5; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(closed(), 5);
  const LeaseUsage usage = Close();
  EXPECT_EQ(usage.connections, 4u);
  EXPECT_LE(usage.bytes_down + usage.bytes_up, uint64_t{1} << 20);
  EXPECT_THAT(usage.refusals,
              Contains(Field(&Refusal::words, "too many connections")));
}

TEST_F(ProxyTest, ASlowProgramIsGivenUp) {
  Open({.to_speak = absl::Milliseconds(500), .idle = absl::Milliseconds(700)});
  const absl::Time start = absl::Now();
  const os::Fd slow = Ask();
  std::thread drip([&] {
    for (const char c : std::string("GET http://allowed.test/ HTTP/1.1\r\n")) {
      if (::send(slow.get(), &c, 1, MSG_NOSIGNAL) < 0) return;
      absl::SleepFor(absl::Milliseconds(50));
    }
  });
  EXPECT_EQ(ReceiveAll(slow.get()), "");
  drip.join();
  const os::Fd idle = Tunnel("allowed.test:443");
  ASSERT_TRUE(Send(idle.get(), ClientHelloFor("allowed.test")));
  EXPECT_THAT(ReceiveAll(idle.get()), Not(IsEmpty()));
  EXPECT_LT(absl::Now() - start, absl::Seconds(15));
}

TEST_F(ProxyTest, AJailsEndEndsItsConnections) {
  Open();
  std::vector<os::Fd> tunnels;
  for (int i = 0; i < 20; ++i) {
    tunnels.push_back(Tunnel("allowed.test:443"));
    Send(tunnels.back().get(), ClientHelloFor("allowed.test"));
    EXPECT_THAT(Receive(tunnels.back().get(), 1), SizeIs(1));
  }
  const os::Fd waiting = Ask();
  const absl::Time start = absl::Now();
  EXPECT_GE(Close().connections, 20u);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  for (const os::Fd& tunnel : tunnels) (void)ReceiveAll(tunnel.get(), 5);
  EXPECT_EQ(proxy_->Close(kJail).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sandglass::egress

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  if (!sandglass::testing::EnterOwnWorld()) {
    std::fprintf(stderr,
                 "egress_proxy_test: a network namespace of its own "
                 "can't be made; run it as root\n");
    return 1;
  }
  return RUN_ALL_TESTS();
}
