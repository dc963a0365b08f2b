// Connections from elsewhere by the thousand that say little, and slowly.

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/e2e/remote/beside.h"
#include "tests/e2e/remote/raw_caller.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/network/http2_bytes.h"
#include "tests/support/slowdown.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using server::Http2Frame;

// What a client says first of its handshake.
std::string ClientHello(const TlsContext& tls) {
  const std::unique_ptr<SSL, decltype(&::SSL_free)> client(::SSL_new(tls.get()),
                                                           &::SSL_free);
  BIO* const out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(client.get(), ::BIO_new(::BIO_s_mem()), out);
  ::SSL_connect(client.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  return std::string(data, static_cast<size_t>(size));
}

class RemoteSlow : public RemoteTest {
 protected:
  void SetUp() override {
    RemoteTest::SetUp();
    beside_ = std::make_unique<Beside>(
        daemon().pid(), port(),
        [ca = issuer().pem(), at = port(),
         own = absl::StrCat("Bearer ", Token("team-a", "beside").value())] {
          RemoteCaller caller(at, ca, {}, {own});
          v1::RunCodeResponse response;
          const grpc::Status status = caller.Run("print(1)", &response);
          return status.ok() ? response.stdout().data()
                             : status.error_message();
        });
  }
  void TearDown() override {
    beside_->Check();
    RemoteTest::TearDown();
  }

  TlsContext tls_ = TestClient(issuer().pem(), {"h2"});
  std::unique_ptr<Beside> beside_;
};

// Takes what each connection was sent; returns how many are still open.
size_t StillOpen(const std::vector<os::Fd>& sockets) {
  size_t open = 0;
  char bytes[1024];
  for (const os::Fd& socket : sockets) {
    ssize_t got = 1;
    while (got > 0) {
      got = ::recv(socket.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    }
    open += got < 0 && errno == EAGAIN ? 1 : 0;
  }
  return open;
}

// The room for handshakes is that of a thousand, and of 128 of one network.
TEST_F(RemoteSlow, HandshakesAndFirstWordsEndInTime) {
  const std::string hello = ClientHello(tls_);
  std::vector<os::Fd> handshakes;
  std::vector<size_t> slow;  // those that say one byte after the other
  for (int i = 0; i < 1200; ++i) {
    handshakes.push_back(
        ConnectFrom(absl::StrCat("127.0.0.", 10 + i % 10), port()));
    ASSERT_TRUE(handshakes.back().valid());
    if (i % 3 == 1) slow.push_back(handshakes.size() - 1);
    if (i % 3 == 2) {
      (void)!::send(handshakes.back().get(), hello.data(), hello.size() / 2,
                    MSG_NOSIGNAL);
    }
  }
  // These are through with it, and then say nothing, or a part of HTTP/2's
  // first words.
  std::vector<std::unique_ptr<RawCaller>> mute;
  for (int i = 0; i < 200; ++i) {
    mute.push_back(std::make_unique<RawCaller>(port(), tls_));
    ASSERT_TRUE(mute.back()->connected());
    if (i % 2 == 1) mute.back()->Send(kHttp2Hello.substr(0, 10));
  }
  // A descriptor of each handshake, and two of each connection.
  EXPECT_LE(beside_->Connections(), 1024u + 2 * 200 + 20);
  const absl::Time began = absl::Now();
  size_t sent = 0;
  EXPECT_TRUE(WaitUntil(
      [&] {
        for (const size_t each : slow) {
          (void)!::send(handshakes[each].get(), &hello[sent % hello.size()], 1,
                        MSG_NOSIGNAL);
        }
        ++sent;
        absl::SleepFor(absl::Milliseconds(100));
        return StillOpen(handshakes) == 0;
      },
      absl::Seconds(15)));
  // Not because somebody else needed their room.
  EXPECT_GT(absl::Now() - began, absl::Seconds(5));
  for (const auto& each : mute) EXPECT_TRUE(each->Ends(absl::Seconds(5)));
}

// With every change HandshakesAndFirstWordsEndInTime alone.
TEST_F(RemoteSlow, StrangersWhoSayNotWhoTheyAreEndInTime) {
  // What the daemon lets in of strangers is less.
  constexpr int kMany = 6000;
  const std::string begun =
      Http2Bytes(Http2Frame::kHeaders, 0, 1,
                 CallHeaders("/sandglass.v1.IdentityService/WhoAmI"));
  std::vector<std::unique_ptr<RawCaller>> strangers;
  for (int i = 0; i < kMany; ++i) {
    strangers.push_back(std::make_unique<RawCaller>(port(), tls_));
    if (!strangers.back()->connected()) continue;
    strangers.back()->Send(kHttp2Hello);
    // Half of a call's headers, or all of them.
    if (i % 3 == 1) strangers.back()->Send(begun.substr(0, 40));
    if (i % 3 == 2) strangers.back()->Send(begun);
  }
  size_t byte = 40;
  EXPECT_TRUE(WaitUntil(
      [&] {
        size_t open = 0;
        for (size_t i = 0; i < strangers.size(); ++i) {
          RawCaller& each = *strangers[i];
          if (!each.connected() || each.Ends(absl::ZeroDuration())) continue;
          ++open;
          if (i % 3 == 1) each.Send(begun.substr(byte % begun.size(), 1));
        }
        ++byte;
        return open == 0;
      },
      absl::Seconds(45)));
}

// With every change HandshakesAndFirstWordsEndInTime alone.
TEST_F(RemoteSlow, ConnectionsThatComeAndGoKeepNobodyOut) {
  // Their numbers are those of a minute.
  for (int i = 0; i < 8000; ++i) {
    const RawCaller brief(port(), tls_);
    ASSERT_TRUE(brief.connected());
  }
}

}  // namespace
}  // namespace sandglass::testing
