// Who is not believed, and what programs try, where the proxy is TLS's end.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/egress/inspect_fixture.h"

namespace sandglass::egress {
namespace {

using ::sandglass::testing::TlsEnd;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(InspectTest, AServerThatIsNotWhoItHasToBeIsNotAsked) {
  Open();
  const std::pair<const char*, const char*> servers[] = {
      {"expired.test", "has expired"},
      {"future.test", "isn't valid yet"},
      {"wrong.test", "is for another name"},
      {"untrusted.test", "from an unknown issuer"}};
  for (const auto& [host, why] : servers) {
    EXPECT_THAT(
        Inner(host, GetHead(host)),
        AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr(host), HasSubstr(why)));
  }
  EXPECT_THAT(Seen(), IsEmpty());
  const LeaseUsage usage = Close();
  EXPECT_EQ(usage.refused, 4u);
  EXPECT_THAT(usage.refusals,
              Contains(Field(&Refusal::words, HasSubstr("unknown issuer"))));
}

TEST_F(InspectTest, WithoutExtraRootsTheHostsOwnCount) {
  ProxyOptions options = Options();
  options.extra_roots_pem.clear();
  Start(std::move(options));
  Open();
  EXPECT_THAT(Inner("inspected.test", GetHead("inspected.test")),
              AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("unknown issuer")));
}

TEST_F(InspectTest, ExtraRootsThatAreNoneAreNotTaken) {
  for (const std::string& pem :
       {std::string("none"), issuer_.pem().substr(0, 300),
        issuer_.pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n"
                        "-----END CERTIFICATE-----\n"}) {
    auto resolver = Resolver::Create({"127.0.0.1"});
    ASSERT_TRUE(resolver.ok()) << resolver.status();
    ProxyOptions options = Options();
    options.extra_roots_pem = pem;
    EXPECT_EQ(
        Proxy::Start(*std::move(resolver), std::move(options)).status().code(),
        absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(InspectTest, ServersWithoutTlsAreReported) {
  Open();
  for (const char* host : {"h2.test", "old.test"}) {
    EXPECT_THAT(Inner(host, GetHead(host)),
                AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("no TLS with")))
        << host;
  }
  EXPECT_THAT(Inner("missing.test", GetHead("missing.test")),
              StartsWith("HTTP/1.1 502 "));
  EXPECT_THAT(Inner("inner.test", GetHead("inner.test")),
              AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("resolves to")));
  EXPECT_THAT(Seen(), IsEmpty());
}

TEST_F(InspectTest, WithoutAnAuthorityConnectionsAreRefused) {
  ProxyOptions options = Options();
  options.authority = nullptr;
  Start(std::move(options));
  Open();
  std::string answer;
  const os::Fd tunnel = Tunnel("inspected.test:443", &answer);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(testing::ReceiveAll(tunnel.get()), HasSubstr("authority"));
  EXPECT_FALSE(BeginTransparent("inspected.test").connected);
  EXPECT_EQ(https_->connections(), 0);
  EXPECT_THAT(Close().refusals,
              Contains(Field(&Refusal::words, HasSubstr("authority"))));
}

TEST_F(InspectTest, ProgramsThatDoNotTrustTheAuthorityEnd) {
  Open();
  client_ = testing::TestClient(issuer_.pem());
  const Inside inside = Begin("inspected.test");
  EXPECT_FALSE(inside.connected);
  // The proxy has heard why.
  (void)testing::ReceiveAll(inside.socket.get());
  EXPECT_EQ(https_->connections(), 0);
  EXPECT_THAT(Close().refusals,
              Contains(Field(&Refusal::words, HasSubstr("has to trust"))));
}

TEST_F(InspectTest, TheHelloHasToNameTheTunnelsServer) {
  Open();
  EXPECT_FALSE(Begin("inspected.test", 443, "other.test").connected);
  EXPECT_FALSE(Begin("inspected.test", 443, "evil.test").connected);
  const os::Fd nameless = Tunnel("inspected.test:443");
  EXPECT_FALSE(TlsEnd(nameless.get(), client_).Connect(""));
  const os::Fd plain = Tunnel("inspected.test:443");
  testing::Send(plain.get(), GetHead("inspected.test"));
  EXPECT_EQ(testing::ReceiveAll(plain.get()), "");
  EXPECT_EQ(https_->connections(), 0);
  EXPECT_THAT(Close().refusals,
              Contains(Field(&Refusal::words, HasSubstr("hello is for"))));
}

TEST_F(InspectTest, Http2AloneIsRefusedAndBesideHttp11Left) {
  Open();
  client_ = testing::TestClient(*authority_->CertificatePem(), {"h2"});
  const Inside alone = Begin("inspected.test");
  EXPECT_FALSE(alone.connected);
  EXPECT_THAT(alone.tls->words(), HasSubstr("no application protocol"));
  client_ =
      testing::TestClient(*authority_->CertificatePem(), {"h2", "http/1.1"});
  const Inside both = Begin("inspected.test");
  ASSERT_TRUE(both.connected) << both.tls->words();
  EXPECT_EQ(both.tls->protocol(), "http/1.1");
  EXPECT_THAT(Close().refusals,
              Contains(Field(&Refusal::words, HasSubstr("HTTP/1.1"))));
}

TEST_F(InspectTest, RequestsInsideAreForTheTunnelsServer) {
  Open();
  for (const char* host :
       {"other.test", "inspected.test:8443", "inspected.test:80",
        "93.184.216.34", "evil.test", "inspected.test.evil.test"}) {
    EXPECT_THAT(Inner("inspected.test", GetHead(host)),
                AllOf(StartsWith("HTTP/1.1 403 "),
                      HasSubstr("for inspected.test:443 alone")))
        << host;
  }
  for (const std::string& request :
       {std::string("GET https://inspected.test/ HTTP/1.1\r\n"
                    "Host: inspected.test\r\n\r\n"),
        std::string("GET http://inspected.test/ HTTP/1.1\r\n"
                    "Host: inspected.test\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: inspected.test\r\n"
                    "Host: other.test\r\n\r\n"),
        std::string("CONNECT other.test:443 HTTP/1.1\r\n"
                    "Host: other.test:443\r\n\r\n")}) {
    EXPECT_THAT(Inner("inspected.test", request), StartsWith("HTTP/1.1 40"))
        << request;
  }
  // The name in its other forms is the same.
  EXPECT_THAT(Inner("inspected.test", GetHead("INSPECTED.test.")),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Seen(), SizeIs(1));
}

TEST_F(InspectTest, WhatTwoServersCouldReadDifferentlyIsRefusedInside) {
  Open();
  const std::string start = "POST / HTTP/1.1\r\nHost: inspected.test\r\n";
  for (const char* rest :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
        "Content-Length: +4\r\n\r\nbody",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "X: a\nContent-Length: 4\r\n\r\nbody", "X: a\r\n b\r\n\r\n",
        "X: ${secret:API_KEY}\rY: b\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\n"}) {
    EXPECT_THAT(Inner("inspected.test", start + rest),
                AnyOf(StartsWith("HTTP/1.1 40"), StartsWith("HTTP/1.1 50")))
        << rest;
  }
  for (const std::string& head : Seen()) {
    EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  }
}

TEST_F(InspectTest, AHandshakeThatNeverEndsIsGivenUp) {
  Open({.to_connect = absl::Milliseconds(500),
        .to_speak = absl::Milliseconds(500)});
  const absl::Time start = absl::Now();
  // A hello, and nothing behind it.
  const os::Fd half = Tunnel("inspected.test:443");
  testing::Send(half.get(), testing::ClientHelloFor("inspected.test"));
  EXPECT_THAT(testing::ReceiveAll(half.get()), Not(IsEmpty()));
  // Half a hello.
  const os::Fd quarter = Tunnel("inspected.test:443");
  testing::Send(quarter.get(),
                testing::ClientHelloFor("inspected.test").substr(0, 50));
  EXPECT_THAT(testing::ReceiveAll(quarter.get()), IsEmpty());
  // Behind the hello, records without an end in sight.
  const os::Fd flood = Tunnel("inspected.test:443");
  testing::Send(flood.get(), testing::ClientHelloFor("inspected.test"));
  while (
      testing::Send(flood.get(), std::string("\x14\x03\x03\x00\x01\x01", 6))) {
    ASSERT_LT(absl::Now() - start, absl::Seconds(20));
  }
  // A server that never says anything.
  EXPECT_THAT(Inner("silent.test", GetHead("silent.test")),
              AllOf(StartsWith("HTTP/1.1 504 "), HasSubstr("silent.test")));
  EXPECT_LT(absl::Now() - start, absl::Seconds(15));
}

TEST_F(InspectTest, ASilentProgramInsideTlsIsGivenUp) {
  Open({.to_speak = absl::Milliseconds(500), .idle = absl::Milliseconds(500)});
  const absl::Time start = absl::Now();
  const Inside quiet = Begin("inspected.test");
  ASSERT_TRUE(quiet.connected) << quiet.tls->words();
  EXPECT_EQ(quiet.tls->ReceiveAll(), "");
  const Inside half = Begin("inspected.test");
  ASSERT_TRUE(
      half.tls->Send("POST / HTTP/1.1\r\nHost: inspected.test\r\n"
                     "Content-Length: 10\r\n\r\nhalf"));
  EXPECT_THAT(half.tls->ReceiveAll(), StartsWith("HTTP/1.1 504 "));
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
}

// TLS has messages that carry no data and may come for ever.
TEST_F(InspectTest, RecordsWithoutDataHoldNothingUp) {
  constexpr uint64_t kBytes = 1 << 17;
  Open({.bytes = kBytes});
  const Inside inside = Begin("inspected.test");
  ASSERT_TRUE(inside.connected) << inside.tls->words();
  const absl::Time start = absl::Now();
  while (absl::Now() - start < absl::Seconds(30)) {
    ::SSL_key_update(inside.tls->get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    if (::SSL_do_handshake(inside.tls->get()) != 1) break;
  }
  // They were counted.
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  const LeaseUsage usage = Close();
  EXPECT_LE(usage.bytes_up, kBytes);
  EXPECT_THAT(usage.refusals,
              Contains(Field(&Refusal::words, HasSubstr("used up"))));
}

TEST_F(InspectTest, BytesInsideTlsAreCounted) {
  Open({.bytes = 1 << 20});
  EXPECT_LT(
      Inner("inspected.test", GetHead("inspected.test", "", "/big")).size(),
      size_t{1} << 20);
  const LeaseUsage usage = Close();
  EXPECT_LE(usage.bytes_up + usage.bytes_down, uint64_t{1} << 20);
  EXPECT_GT(usage.bytes_down, uint64_t{1} << 19);
  EXPECT_THAT(usage.refusals,
              Contains(Field(&Refusal::words, HasSubstr("used up"))));
}

TEST_F(InspectTest, AJailsEndEndsWhatGoesOnInside) {
  Open();
  const Inside idle = Begin("inspected.test");
  const Inside busy = Begin("inspected.test");
  ASSERT_TRUE(busy.connected) << busy.tls->words();
  // Nobody reads what comes.
  ASSERT_TRUE(busy.tls->Send(GetHead("inspected.test", "", "/big")));
  const Inside waiting = Begin("silent.test");
  ASSERT_TRUE(waiting.tls->Send(GetHead("silent.test")));
  const os::Fd half = Tunnel("inspected.test:443");
  testing::Send(half.get(), testing::ClientHelloFor("inspected.test"));
  absl::SleepFor(absl::Milliseconds(300));
  const absl::Time start = absl::Now();
  EXPECT_EQ(Close().connections, 4u);
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
  // What was cut doesn't look whole.
  EXPECT_LT(busy.tls->ReceiveAll().size(), kBigBytes);
  EXPECT_FALSE(busy.tls->was_finished());
}

TEST_F(InspectTest, ManyHostsKeepNoMoreKeysThanTheBound) {
  Open({.connections = 1000});
  for (int i = 0; i < 200; ++i) {
    const std::string host = absl::StrCat("h", i, ".suffix.test");
    const Inside inside = Begin(host);
    ASSERT_TRUE(inside.connected) << host << ": " << inside.tls->words();
    EXPECT_THAT(inside.tls->names(), ::testing::ElementsAre(host));
  }
  EXPECT_EQ(authority_->kept(), Authority::kMaxKept);
}

}  // namespace
}  // namespace sandglass::egress
