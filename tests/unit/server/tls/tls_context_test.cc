#include "server/tls/tls_context.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/tls/tls_socket.h"
#include "tests/support/network/tls_world.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::sandglass::testing::TempDir;
using ::sandglass::testing::TestClient;
using ::sandglass::testing::TestIssuer;
using ::sandglass::testing::TlsEnd;
using ::testing::HasSubstr;

const TestIssuer& Issuer() {
  static const auto* issuer = new TestIssuer("ours");
  return *issuer;
}
const TestIssuer& OtherIssuer() {
  static const auto* issuer = new TestIssuer("theirs");
  return *issuer;
}

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    // As the daemon does.
    ::signal(SIGPIPE, SIG_IGN);
    const TestIssuer::Pair own = Issuer().Issue({.names = "DNS:here.test"});
    files_.certificate = own.certificate;
    files_.key = own.key;
  }
  void AskForCertificates() {
    config_.client_ca = "/ca";
    files_.client_ca = Issuer().pem();
  }
  std::string Wrong() const {
    return std::string(
        MakeTls(config_, files_, absl::Now()).status().message());
  }

  struct Met {
    TlsSocket::Progress server = TlsSocket::Progress::kReads;
    bool client = false;
    std::string received;  // by the client
    std::optional<PeerCertificate> peer;
  };
  // A client that says a word and waits for one. The socket doesn't block, as
  // in the daemon.
  Met Meet(const TestIssuer::Pair& own = {}, const std::string& alpn = "h2",
           int version = 0) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const os::Fd here(ends[0]), there(ends[1]);
    ::fcntl(here.get(), F_SETFL, O_NONBLOCK);
    Met met;
    std::thread client([&] {
      const auto context =
          TestClient(Issuer().pem(),
                     alpn.empty() ? std::vector<std::string>()
                                  : std::vector<std::string>{alpn},
                     own);
      if (version != 0) {
        SSL_CTX_set_max_proto_version(context.get(), version);
        ::SSL_CTX_set_security_level(context.get(), 0);
      }
      TlsEnd end(there.get(), context);
      met.client = end.Connect("here.test") && end.Send("hello");
      if (met.client) met.received = end.Receive(5);
      ::shutdown(there.get(), SHUT_RDWR);
    });
    const absl::StatusOr<SharedTls> tls = MakeTls(config_, files_, absl::Now());
    EXPECT_TRUE(tls.ok()) << tls.status();
    const auto socket = TlsSocket::Make(*tls, here.get());
    do {
      met.server = socket->Handshake();
    } while (met.server == TlsSocket::Progress::kReads);
    if (met.server == TlsSocket::Progress::kDone && socket->SpeaksHttp2()) {
      met.peer = socket->Peer();
      Echo(*socket);
    }
    ::shutdown(here.get(), SHUT_RDWR);
    client.join();
    return met;
  }
  static void Echo(TlsSocket& socket) {
    char first[2], second[30];
    iovec parts[2] = {{first, sizeof(first)}, {second, sizeof(second)}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t got = -1;
    do {
      got = socket.Receive(&message);
    } while (got < 0 && errno == EAGAIN);
    EXPECT_EQ(got, 5);
    parts[1].iov_len = 3;
    EXPECT_EQ(socket.Send(&message), 5);
  }

  TlsConfig config_{.certificate = "/cert", .key = "/key"};
  TlsFiles files_;
};

TEST_F(TlsTest, BytesGoBothWays) {
  const Met met = Meet();
  EXPECT_EQ(met.server, TlsSocket::Progress::kDone);
  EXPECT_EQ(met.received, "hello");
  EXPECT_FALSE(met.peer.has_value());
}

TEST_F(TlsTest, MoreThanTheSocketTakesIsSentInTheEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const os::Fd here(ends[0]), there(ends[1]);
  ::fcntl(here.get(), F_SETFL, O_NONBLOCK);
  std::string all(3 << 20, '\0');
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i * 7 / 3);
  std::string received;
  std::thread client([&] {
    TlsEnd end(there.get(), TestClient(Issuer().pem(), {"h2"}));
    if (end.Connect("here.test")) received = end.Receive(all.size());
  });
  const auto socket =
      TlsSocket::Make(*MakeTls(config_, files_, absl::Now()), here.get());
  while (socket->Handshake() != TlsSocket::Progress::kDone) {
  }
  size_t sent = 0;
  int refused = 0;
  while (sent < all.size()) {
    // In pieces of different sizes, as gRPC has them.
    iovec parts[2] = {
        {all.data() + sent, std::min<size_t>(100, all.size() - sent)},
        {nullptr, 0}};
    parts[1] = {all.data() + sent + parts[0].iov_len,
                all.size() - sent - parts[0].iov_len};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t some = socket->Send(&message);
    if (some < 0) {
      ASSERT_EQ(errno, EAGAIN);
      ++refused;
    } else {
      sent += static_cast<size_t>(some);
    }
  }
  client.join();
  EXPECT_GT(refused, 0);
  EXPECT_EQ(received, all);
}

TEST_F(TlsTest, ManyNewKeysWithoutAnythingElseEndTheConnection) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const os::Fd here(ends[0]), there(ends[1]);
  ::fcntl(here.get(), F_SETFL, O_NONBLOCK);
  const auto socket =
      TlsSocket::Make(*MakeTls(config_, files_, absl::Now()), here.get());
  TlsEnd end(there.get(), TestClient(Issuer().pem(), {"h2"}));
  std::thread client([&] {
    if (!end.Connect("here.test")) return;
    const auto renew = [&end] {
      return ::SSL_key_update(end.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
             ::SSL_do_handshake(end.get()) == 1;
    };
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(renew());
    EXPECT_TRUE(end.Send("hello"));
    for (int i = 0; i < 2000 && renew(); ++i) {
    }
  });
  while (socket->Handshake() != TlsSocket::Progress::kDone) {
  }
  char data[16];
  iovec part = {data, sizeof(data)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ssize_t got = -1;
  // A few are nobody's harm.
  do {
    got = socket->Receive(&message);
  } while (got < 0 && errno == EAGAIN);
  EXPECT_EQ(got, 5);
  client.join();
  int turns = 0;
  do {
    got = socket->Receive(&message);
  } while (got < 0 && errno == EAGAIN && ++turns < 100);
  EXPECT_LT(turns, 100);
  socket->Close();
  EXPECT_EQ(socket->Receive(&message), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_EQ(socket->Send(&message), -1);
}

TEST_F(TlsTest, WhoIsNotFromThisDecadeOrSpeaksNoHttp2IsNotServed) {
  EXPECT_EQ(Meet({}, "h2", TLS1_2_VERSION).received, "hello");
  EXPECT_EQ(Meet({}, "h2", TLS1_1_VERSION).server,
            TlsSocket::Progress::kFailed);
  EXPECT_EQ(Meet({}, "h2", TLS1_VERSION).server, TlsSocket::Progress::kFailed);
  EXPECT_EQ(Meet({}, "http/1.1").server, TlsSocket::Progress::kFailed);
  // It has agreed on nothing, so its connection is dropped by the listener.
  EXPECT_EQ(Meet({}, "").received, "");
}

TEST_F(TlsTest, ACertificatesUriComesBeforeItsDnsName) {
  AskForCertificates();
  Met met = Meet(Issuer().Issue({.names = "DNS:a.test,URI:spiffe://x/a"}));
  ASSERT_TRUE(met.peer.has_value());
  EXPECT_EQ(met.peer->name, "spiffe://x/a");
  EXPECT_GT(met.peer->ends, absl::Now());
  met = Meet(Issuer().Issue({.names = "DNS:a.test,DNS:b.test"}));
  EXPECT_EQ(met.peer->name, "a.test");
  met = Meet(Issuer().Issue({.names = "IP:192.0.2.1"}));
  EXPECT_EQ(met.peer->name, "");
  EXPECT_FALSE(Meet().peer.has_value());
}

TEST_F(TlsTest, OnlyGoodCertificatesOfThatAuthorityAreTaken) {
  AskForCertificates();
  const TestIssuer::Pair revoked = Issuer().Issue({.names = "DNS:a.test"});
  const TestIssuer::Pair good = Issuer().Issue({.names = "DNS:b.test"});
  config_.crl = "/crl";
  files_.crl = Issuer().Revoked({revoked.certificate});
  EXPECT_EQ(Meet(good).received, "hello");
  for (const TestIssuer::Pair& bad :
       {revoked, OtherIssuer().Issue({.names = "DNS:b.test"}),
        Issuer().Issue({.names = "DNS:b.test", .until = -absl::Minutes(1)}),
        Issuer().Issue({.names = "DNS:b.test", .from = absl::Minutes(10)})}) {
    EXPECT_EQ(Meet(bad).server, TlsSocket::Progress::kFailed);
  }
  EXPECT_EQ(Meet().received, "hello");
  config_.client_required = true;
  EXPECT_EQ(Meet().server, TlsSocket::Progress::kFailed);
}

TEST_F(TlsTest, SaysWhichFileIsWrong) {
  const TestIssuer::Pair other = Issuer().Issue({.names = "DNS:here.test"});
  const TlsFiles good = files_;
  files_.key = other.key;
  EXPECT_EQ(Wrong(), "tls.key (/key): is not the key of /cert");
  files_.key = "nonsense";
  EXPECT_THAT(Wrong(), HasSubstr("tls.key (/key): has no private key"));
  files_ = good;
  files_.certificate = good.key;
  EXPECT_THAT(Wrong(),
              HasSubstr("tls.certificate (/cert): has no certificate"));
  const TestIssuer::Pair expired =
      Issuer().Issue({.names = "DNS:here.test", .until = -absl::Minutes(1)});
  files_ = {.certificate = expired.certificate, .key = expired.key};
  EXPECT_THAT(Wrong(), HasSubstr("expired on"));
  const TestIssuer::Pair early =
      Issuer().Issue({.names = "DNS:here.test", .from = absl::Minutes(10)});
  files_ = {.certificate = early.certificate, .key = early.key};
  EXPECT_THAT(Wrong(), HasSubstr("is valid only from"));
  files_ = good;
  config_.client_ca = "/ca";
  EXPECT_THAT(Wrong(), HasSubstr("tls.client_ca (/ca): has no certificate"));
  AskForCertificates();
  config_.crl = "/crl";
  EXPECT_THAT(Wrong(), HasSubstr("tls.crl (/crl): has no CRL"));
}

TEST_F(TlsTest, WhatIsWrongAtAReloadLeavesTheOldInForce) {
  TlsContext context(config_, files_, *MakeTls(config_, files_, absl::Now()));
  const SharedTls first = context.Get();
  EXPECT_TRUE(context.Replace(files_, absl::Now()).ok());
  EXPECT_EQ(context.Get(), first);  // nothing has changed
  const TestIssuer::Pair other = Issuer().Issue({.names = "DNS:here.test"});
  TlsFiles half = files_;
  half.certificate = other.certificate;
  EXPECT_FALSE(context.Replace(half, absl::Now()).ok());
  EXPECT_FALSE(
      context.Replace(absl::UnavailableError("no disk"), absl::Now()).ok());
  EXPECT_EQ(context.Get(), first);
  EXPECT_FALSE(context.state().ok());
  half.key = other.key;
  EXPECT_TRUE(context.Replace(half, absl::Now()).ok());
  EXPECT_NE(context.Get(), first);
  EXPECT_TRUE(context.state().ok());
}

TEST_F(TlsTest, ReadsRegularFilesOfALikelySizeAlone) {
  const TempDir dir;
  TlsConfig config{.certificate = dir.Path("cert"), .key = dir.Path("key")};
  const auto said = [&config] {
    return std::string(ReadTlsFiles(config).status().message());
  };
  EXPECT_THAT(said(), HasSubstr("tls.certificate"));
  std::ofstream(config.certificate) << files_.certificate;
  ASSERT_EQ(::mkfifo(config.key.c_str(), 0600), 0);
  EXPECT_THAT(said(), HasSubstr("is no regular file"));
  ::unlink(config.key.c_str());
  std::ofstream(config.key) << std::string(2 << 20, 'x');
  EXPECT_THAT(said(), HasSubstr("over 1 MiB"));
  std::ofstream(config.key) << files_.key;
  const absl::StatusOr<TlsFiles> read = ReadTlsFiles(config);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->key, files_.key);
  EXPECT_EQ(read->client_ca, "");
}

}  // namespace
}  // namespace sandglass::server
