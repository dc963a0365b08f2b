// What the proxy does where it is TLS's end.

#include <sys/socket.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/egress/inspect_fixture.h"

namespace sandglass::egress {
namespace {

using ::sandglass::testing::TlsEnd;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string ContentOf(const std::string& response) {
  const size_t at = response.find("\r\n\r\n");
  return at == std::string::npos ? "" : response.substr(at + 4);
}

TEST_F(InspectTest, APageIsFetchedThroughATunnel) {
  Open();
  const Inside inside = Begin("inspected.test");
  ASSERT_TRUE(inside.connected) << inside.tls->words();
  EXPECT_THAT(inside.tls->names(), ElementsAre("inspected.test"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(inside.tls->Send(
        absl::StrCat("POST /p", i,
                     " HTTP/1.1\r\nHost: inspected.test\r\n"
                     "X-Own: kept\r\nContent-Length: 4\r\n\r\nbody")));
    EXPECT_THAT(inside.tls->ReceiveUntil("\r\n\r\nbody"),
                StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  ASSERT_TRUE(inside.tls->Send(GetHead("inspected.test:443")));
  EXPECT_THAT(inside.tls->ReceiveAll(), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(inside.tls->was_finished());
  // All of them went the same way.
  EXPECT_EQ(https_->connections(), 1);
  ASSERT_THAT(Seen(), SizeIs(4));
  EXPECT_THAT(Seen()[2], AllOf(StartsWith("POST /p2 HTTP/1.1\r\n"),
                               HasSubstr("\r\nHost: inspected.test\r\n"),
                               HasSubstr("X-Own: kept\r\n")));
  const LeaseUsage usage = Close();
  EXPECT_EQ(usage.connections, 1u);
  EXPECT_EQ(usage.refused, 0u);
  EXPECT_GT(usage.bytes_up, 400u);
  EXPECT_GT(usage.bytes_down, 400u);
}

TEST_F(InspectTest, ProgramsThatKnowOfNoProxyAreServed) {
  Open();
  const Inside inside = BeginTransparent("deep.of.suffix.test");
  ASSERT_TRUE(inside.connected) << inside.tls->words();
  // Never the rule's "*.suffix.test".
  EXPECT_THAT(inside.tls->names(), ElementsAre("deep.of.suffix.test"));
  ASSERT_TRUE(inside.tls->Send(GetHead("deep.of.suffix.test")));
  EXPECT_THAT(inside.tls->ReceiveAll(), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Seen(), ElementsAre(StartsWith("GET / ")));
}

TEST_F(InspectTest, AddressesAreServersToo) {
  Open();
  Inside inside{.socket = Tunnel("93.184.216.50:443")};
  inside.tls = std::make_unique<TlsEnd>(inside.socket.get(), client_);
  ASSERT_TRUE(inside.tls->Connect("")) << inside.tls->words();
  EXPECT_THAT(inside.tls->names(), ElementsAre("\x5d\xb8\xd8\x32"));
  ASSERT_TRUE(inside.tls->Send(GetHead("93.184.216.50")));
  EXPECT_THAT(inside.tls->ReceiveAll(), StartsWith("HTTP/1.1 200 OK\r\n"));
  // What is inside is for the address, so no other name will do.
  const Inside named = Begin("93.184.216.50", 443, "other.test");
  EXPECT_FALSE(named.connected);
}

TEST_F(InspectTest, OtherPortsAreNamedInHost) {
  Open();
  testing::TestServer odd(8443, [&](int socket) {
    TlsEnd tls(socket, contexts_.at("93.184.216.34"));
    if (!tls.Accept()) return;
    const std::string head = tls.ReceiveUntil("\r\n\r\n");
    tls.Send(absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", head.size(),
                          "\r\n\r\n", head));
  });
  const Inside inside = Begin("inspected.test", 8443);
  ASSERT_TRUE(inside.connected) << inside.tls->words();
  ASSERT_TRUE(inside.tls->Send(GetHead("inspected.test:8443")));
  EXPECT_THAT(inside.tls->ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 200 "),
                    HasSubstr("Host: inspected.test:8443\r\n")));
  EXPECT_EQ(https_->connections(), 0);
}

TEST_F(InspectTest, BigBodiesGoBothWaysWhole) {
  Open();
  const Inside inside = Begin("inspected.test");
  ASSERT_TRUE(inside.connected) << inside.tls->words();
  std::string body;
  while (body.size() < kBigBytes) absl::StrAppend(&body, body.size(), ",");
  std::thread sender([&] {
    inside.tls->Send(
        absl::StrCat("POST / HTTP/1.1\r\nHost: inspected.test\r\n"
                     "Content-Length: ",
                     body.size(), "\r\n\r\n"));
    inside.tls->Send(body);
  });
  sender.join();
  const std::string head = inside.tls->ReceiveUntil("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(inside.tls->Receive(body.size()) == body);

  ASSERT_TRUE(inside.tls->Send(GetHead("inspected.test", "", "/big")));
  EXPECT_EQ(ContentOf(inside.tls->ReceiveAll()), std::string(kBigBytes, 'b'));
  const LeaseUsage usage = Close();
  EXPECT_GT(usage.bytes_up, kBigBytes);
  EXPECT_LT(usage.bytes_up, kBigBytes * 11 / 10);
  EXPECT_GT(usage.bytes_down, 2 * kBigBytes);
}

TEST_F(InspectTest, AResponseThatWasCutIsNotTakenForWhole) {
  Open();
  const Inside cut = Begin("inspected.test");
  ASSERT_TRUE(cut.tls->Send(GetHead("inspected.test", "", "/cut")));
  (void)cut.tls->ReceiveAll();
  EXPECT_FALSE(cut.tls->was_finished());
  // With an end that was said, it is.
  const Inside whole = Begin("inspected.test");
  ASSERT_TRUE(whole.tls->Send(GetHead("inspected.test", "", "/finish")));
  EXPECT_EQ(ContentOf(whole.tls->ReceiveAll()), "all that there is");
  EXPECT_TRUE(whole.tls->was_finished());
}

TEST_F(InspectTest, MethodsAreSeenInsideTls) {
  Open();
  EXPECT_THAT(Inner("methods.test", GetHead("methods.test")),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(
      Inner("methods.test", "DELETE / HTTP/1.1\r\nHost: methods.test\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("DELETE"),
            HasSubstr("methods.test")));
  EXPECT_THAT(Seen(), SizeIs(1));
  EXPECT_THAT(Close().refusals,
              Contains(Field(&Refusal::target, "methods.test:443")));
}

TEST_F(InspectTest, ASecretGoesToItsServerAlone) {
  Open();
  const std::string field = "Authorization: Bearer ${secret:API_KEY}\r\n";
  EXPECT_THAT(Inner("inspected.test", GetHead("inspected.test", field)),
              StartsWith("HTTP/1.1 200 "));
  ASSERT_THAT(Seen(), SizeIs(1));
  EXPECT_THAT(Seen()[0], HasSubstr("Authorization: Bearer s3cr3t-value\r\n"));

  EXPECT_THAT(Inner("other.test", GetHead("other.test", field)),
              AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("API_KEY"),
                    HasSubstr("other.test"), Not(HasSubstr(kSecretValue))));
  for (const char* secret : {"NO_VALUE", "UNKNOWN", "api_key"}) {
    EXPECT_THAT(Inner("inspected.test",
                      GetHead("inspected.test",
                              absl::StrCat("X: ${secret:", secret, "}\r\n"))),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("inspected.test")))
        << secret;
  }
  EXPECT_THAT(Seen(), SizeIs(1));
  const LeaseUsage usage = Close();
  EXPECT_EQ(usage.refused, 4u);
  for (const Refusal& refusal : usage.refusals) {
    EXPECT_THAT(refusal.words, Not(HasSubstr(kSecretValue)));
  }
}

TEST_F(InspectTest, ASecretGoesIntoPlainHttpOnlyWhereThatIsTheRule) {
  Open();
  const auto get = [&](const std::string& host) {
    return Said(absl::StrCat("GET http://", host, "/ HTTP/1.1\r\nHost: ", host,
                             "\r\nX-Key: ${secret:API_KEY}\r\n"
                             "Connection: close\r\n\r\n"));
  };
  EXPECT_THAT(get("plain.test"), StartsWith("HTTP/1.1 200 "));
  ASSERT_THAT(Seen(), SizeIs(1));
  EXPECT_THAT(Seen()[0], HasSubstr("X-Key: s3cr3t-value\r\n"));
  // A program can't have it sent in the clear by asking so.
  EXPECT_THAT(get("inspected.test"), AllOf(StartsWith("HTTP/1.1 403 "),
                                           HasSubstr("inside TLS alone")));
  EXPECT_THAT(get("inspected.test:443"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Seen(), SizeIs(1));
}

TEST_F(InspectTest, ASecretIsNotInWhatComesBackByMistake) {
  Open();
  EXPECT_THAT(Inner("inspected.test", GetHead("inspected.test", "", "/echo")),
              AllOf(StartsWith("HTTP/1.1 200 As ${secret:API_KEY}\r\n"),
                    HasSubstr("X-Echo: ${secret:API_KEY}\r\n"),
                    Not(HasSubstr(kSecretValue))));
  EXPECT_THAT(Inner("inspected.test", GetHead("inspected.test", "", "/broken")),
              AllOf(StartsWith("HTTP/1.1 502 "), Not(HasSubstr("s3cr3t"))));
  // Where the rule lists none there is none to hide.
  EXPECT_THAT(Inner("other.test", GetHead("other.test", "", "/echo")),
              HasSubstr(kSecretValue));
}

TEST_F(InspectTest, OneConnectionHasSecretsAndNone) {
  Open();
  const Inside inside = Begin("inspected.test");
  for (const char* value : {"${secret:API_KEY}", "none", "${secret:API_KEY}"}) {
    ASSERT_TRUE(inside.tls->Send(absl::StrCat(
        "GET / HTTP/1.1\r\nHost: inspected.test\r\nX: ", value, "\r\n\r\n")));
    EXPECT_THAT(inside.tls->ReceiveUntil("\r\n\r\n"),
                StartsWith("HTTP/1.1 200 "));
  }
  ASSERT_THAT(Seen(), SizeIs(3));
  EXPECT_THAT(Seen()[1], HasSubstr("\r\nX: none\r\n"));
  EXPECT_THAT(Seen()[2], HasSubstr("\r\nX: s3cr3t-value\r\n"));
  EXPECT_EQ(https_->connections(), 1);
}

}  // namespace
}  // namespace sandglass::egress
