// Headers that no library would send, versions of TLS, and what isn't TLS.

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"
#include "tests/e2e/remote/raw_caller.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/network/http2_bytes.h"
#include "tests/support/network/tls_world.h"

namespace sandglass::testing {
namespace {

using server::Http2Frame;
using ::testing::HasSubstr;

class RemoteWire : public RemoteTest {
 protected:
  // What becomes of a call of WhoAmI with these headers: its gRPC status, or
  // "ended" where the connection is.
  static std::string Try(const std::string& headers) {
    RawCaller caller(port(), TestClient(issuer().pem(), {"h2"}));
    EXPECT_TRUE(caller.connected());
    caller.Send(kHttp2Hello);
    caller.Send(Http2Bytes(Http2Frame::kHeaders, kEndHeaders, 1,
                           CallHeaders("/sandglass.v1.IdentityService/WhoAmI",
                                       headers)) +
                Http2Bytes(Http2Frame::kData, Http2Frame::kEndStream, 1,
                           std::string(5, '\0')));
    if (caller.CallsEnd(1, absl::Seconds(5))) return caller.FirstStatus();
    return caller.Ends(absl::ZeroDuration()) ? "ended" : "nothing";
  }
  static std::string Authorization(const std::string& value) {
    return Header("authorization", value);
  }
};

TEST_F(RemoteWire, OnlyWellFormedCredentialsCount) {
  const std::string token =
      absl::StrCat("Bearer ", Token("team-b", "ci").value());
  const std::string nul(1, '\0');
  ASSERT_EQ(Try(Authorization(token)), "0");
  for (const std::string& headers :
       {Authorization(token + nul), Authorization(nul + token),
        Authorization(token.substr(0, 20) + nul + token.substr(20)),
        Authorization(token + "\xc3\xa4"), Authorization(token + "\xff"),
        Authorization(token + "\r\nx: y"), Authorization(""),
        Authorization(token) + Authorization(token),
        Authorization(token) + Authorization("Bearer x"),
        Authorization(absl::StrCat("Bearer sg_", std::string(7000, 'x'))),
        Authorization(token) + Header("x", std::string(1 << 20, 'x'))}) {
    const std::string became = Try(headers);
    EXPECT_NE(became, "0") << headers.substr(0, 100);
    EXPECT_NE(became, "nothing") << headers.substr(0, 100);
  }
  EXPECT_EQ(Try(Authorization(token)), "0");
}

TEST_F(RemoteWire, OldVersionsAndRenegotiationAreRefused) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    const TlsContext old = TestClient(issuer().pem(), {"h2"});
    // OpenSSL's own client speaks these only at its lowest level.
    ::SSL_CTX_set_security_level(old.get(), 0);
    ::SSL_CTX_set_min_proto_version(old.get(), version);
    ::SSL_CTX_set_max_proto_version(old.get(), version);
    EXPECT_FALSE(RawCaller(port(), old).connected()) << version;
  }
  const TlsContext older = TestClient(issuer().pem(), {"h2"});
  ::SSL_CTX_set_max_proto_version(older.get(), TLS1_2_VERSION);
  const os::Fd socket = ConnectFrom("127.0.0.2", port());
  TlsEnd client(socket.get(), older);
  ASSERT_TRUE(client.Connect("localhost"));
  EXPECT_EQ(::SSL_renegotiate(client.get()), 1);
  // The handshake that this asks for is refused.
  EXPECT_NE(::SSL_do_handshake(client.get()), 1);
}

TEST_F(RemoteWire, PlainTextIsToldOfTls) {
  const os::Fd socket = ConnectFrom("127.0.0.2", port());
  constexpr char kRequest[] = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  (void)!::send(socket.get(), kRequest, sizeof(kRequest) - 1, MSG_NOSIGNAL);
  std::string answer;
  char bytes[1024];
  for (ssize_t got = 1; got > 0;) {
    got = ::recv(socket.get(), bytes, sizeof(bytes), 0);
    if (got > 0) answer.append(bytes, static_cast<size_t>(got));
  }
  EXPECT_THAT(answer, HasSubstr("served with TLS alone"));

  v1::WhoAmIResponse who;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(20));
  const grpc::Status status =
      v1::IdentityService::NewStub(
          grpc::CreateChannel(absl::StrCat("127.0.0.1:", port()),
                              grpc::InsecureChannelCredentials()))
          ->WhoAmI(&context, v1::WhoAmIRequest(), &who);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace sandglass::testing
