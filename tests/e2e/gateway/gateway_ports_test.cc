// Programs in sessions by HTTP through a gateway.

#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/port_service.grpc.pb.h"
#include "tests/e2e/gateway/gateway_fixture.h"
#include "tests/e2e/gateway/http_caller.h"
#include "tests/support/calls/execs.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kProgram[] = R"(
import base64, hashlib, http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *_): pass
    def answer(self, text, **headers):
        body = text.encode()
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.path == '/stream':
            self.send_response(200)
            self.send_header('transfer-encoding', 'chunked')
            self.end_headers()
            for i in range(3):
                self.wfile.write(b'6\r\npiece%d\r\n' % i)
                self.wfile.flush()
                time.sleep(0.4)
            self.wfile.write(b'0\r\n\r\n')
        elif self.path == '/until-the-end':
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'x' * 100000)
            self.close_connection = True
        elif self.path == '/cut':
            self.send_response(200)
            self.send_header('content-length', '100')
            self.end_headers()
            self.wfile.write(b'cut')
            self.close_connection = True
        elif self.path == '/cookie':
            self.answer('', set_cookie='a=b; Domain=example.org', location='/x')
        elif self.path == '/none':
            self.wfile.write(b'this is no HTTP\r\n\r\n')
            self.close_connection = True
        elif self.path == '/socket':
            key = self.headers['sec-websocket-key'].encode()
            accept = base64.b64encode(hashlib.sha1(key + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
            self.wfile.write(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ' + accept + b'\r\n\r\nfirst')
            self.wfile.flush()
            while data := self.connection.recv(65536):
                self.wfile.write(data.upper())
                self.wfile.flush()
                if b'end' in data: break
            self.close_connection = True
        else:
            self.answer(self.command + ' ' + self.path + '\n' + str(self.headers))
    do_HEAD = do_GET
    def do_POST(self):
        size = 0
        digest = hashlib.sha256()
        if self.headers.get('transfer-encoding') == 'chunked':
            while (length := int(self.rfile.readline(), 16)):
                piece = self.rfile.read(length)
                self.rfile.readline()
                digest.update(piece); size += length
            self.rfile.readline()
        else:
            size = int(self.headers['content-length'])
            digest.update(self.rfile.read(size))
        self.answer('%d %s' % (size, digest.hexdigest()))
server = http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Handler)
print('ready', flush=True)
server.serve_forever()
)";

class GatewayPorts : public GatewayTest {
 protected:
  void StartProgram() {
    more_config_ = absl::StrCat(
        R"("ports": {"domain": "apps.test", "url": "https://gw.test:8443", )",
        R"("link_key_file": ")", place_, R"(/link.key"}, )");
    WriteFile(place_ + "/link.key", std::string(32, 'k'));
    ASSERT_NO_FATAL_FAILURE(StartNode("a"));
    ASSERT_NO_FATAL_FAILURE(StartGateway());
    token_ = Token("team", "ci");
    HttpCaller caller(gateway_port_, issuer_.pem(), token_);
    const HttpReply created =
        caller.Post("/sandglass.v1.SessionService/CreateSession", "{}");
    ASSERT_EQ(created.status, 200) << created.body;
    session_ = json::parse(created.body)["session"]["sessionId"];
    const json start = {
        {"spec",
         {{"sessionId", session_}, {"argv", {"python3", "-c", kProgram}}}},
        {"wait", "0.1s"}};
    const HttpReply started =
        caller.Post("/sandglass.v1.ExecService/StartExec", start.dump());
    ASSERT_EQ(started.status, 200) << started.body;
    ASSERT_TRUE(
        WaitUntil([&] { return Get("/").status == 200; }, absl::Seconds(20)));
  }
  std::string Prefix() const {
    return absl::StrCat("/ports/", session_, "/8000");
  }
  HttpReply Get(const std::string& path, const std::string& headers = "") {
    HttpCaller caller(gateway_port_, issuer_.pem(), token_);
    return caller.Get(Prefix() + path, headers);
  }
  // On the program's own host.
  HttpReply OwnGet(const std::string& path, const std::string& headers) {
    HttpCaller caller(gateway_port_, issuer_.pem());
    caller.Send(absl::StrCat("GET ", path, " HTTP/1.1\r\nhost: 8000-", session_,
                             ".apps.test\r\n", headers, "\r\n"));
    return caller.Read();
  }
  std::string token_;
  std::string session_;
};

TEST_F(GatewayPorts, RequestsGoToTheProgram) {
  ASSERT_NO_FATAL_FAILURE(StartProgram());
  HttpReply reply = Get("/a/b?c=%20", "x-app: 1\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, StartsWith("GET /a/b?c=%20\n"));
  EXPECT_THAT(reply.body, HasSubstr("x-app: 1"));
  EXPECT_THAT(reply.body, HasSubstr("host: localhost:8000"));
  EXPECT_THAT(reply.body, HasSubstr("x-forwarded-for: 127.0.0.1"));
  EXPECT_THAT(reply.body, Not(HasSubstr(token_)));
  EXPECT_THAT(reply.Header("content-security-policy"), HasSubstr("sandbox"));

  HttpCaller caller(gateway_port_, issuer_.pem(), token_);
  const std::string body(3 << 20, 'x');
  reply = caller.Post(Prefix() + "/", body, "expect: 100-continue\r\n");
  if (reply.status == 100) reply = caller.Read();
  EXPECT_THAT(reply.body, StartsWith("3145728 ")) << reply.head;
  // The same connection; in chunks.
  caller.Send(absl::StrCat("POST ", Prefix(),
                           "/ HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ",
                           token_,
                           "\r\ntransfer-encoding: chunked\r\n\r\n"
                           "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"));
  EXPECT_THAT(caller.Read().body, StartsWith("6 "));
  // An answer that comes in pieces comes in pieces.
  caller.Send(absl::StrCat("GET ", Prefix(),
                           "/stream HTTP/1.1\r\nhost: x\r\nauthorization: "
                           "Bearer ",
                           token_, "\r\n\r\n"));
  EXPECT_THAT(caller.ReadHead(), HasSubstr("transfer-encoding: chunked"));
  const absl::Time before = absl::Now();
  EXPECT_EQ(caller.ReadChunk(), "piece0");
  EXPECT_LT(absl::Now() - before, absl::Milliseconds(350));
  EXPECT_EQ(caller.ReadChunk(), "piece1");
  EXPECT_EQ(caller.ReadChunk(), "piece2");
  EXPECT_EQ(caller.ReadChunk(), "");
  EXPECT_EQ(Get("/until-the-end").body.size(), 100'000u);
  caller.Send(absl::StrCat("HEAD ", Prefix(),
                           "/ HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ",
                           token_, "\r\n\r\n"));
  EXPECT_EQ(caller.Read(/*headless=*/true).status, 200);
  // What is cut off is so for the client, and what is no HTTP is said to be.
  HttpCaller cut(gateway_port_, issuer_.pem(), token_);
  reply = cut.Get(Prefix() + "/cut");
  EXPECT_EQ(reply.body, "cut");
  EXPECT_TRUE(cut.Ends(absl::Seconds(5)));
  EXPECT_EQ(Get("/none").status, 502);
}

TEST_F(GatewayPorts, OnlyWhoMayReachesIt) {
  ASSERT_NO_FATAL_FAILURE(StartProgram());
  HttpCaller nobody(gateway_port_, issuer_.pem());
  EXPECT_EQ(nobody.Get(Prefix() + "/").status, 401);
  HttpCaller wrong(gateway_port_, issuer_.pem(), "sg-0-x");
  EXPECT_EQ(wrong.Get(Prefix() + "/").status, 401);
  const std::string other = Token("others", "ci");
  HttpCaller stranger(gateway_port_, issuer_.pem(), other);
  EXPECT_EQ(stranger.Get(Prefix() + "/").status, 404);
  // Tricks with the path and the host.
  for (const std::string& path :
       {absl::StrCat("/ports/", session_, "/8000"),
        absl::StrCat("/ports/", session_, "/08000/"),
        absl::StrCat("/ports/x/../", session_, "/8000/"),
        absl::StrCat("/ports/", session_, "%2f8000/"), std::string("/ports/"),
        std::string("/links/x/"), std::string("/links/../ports/x/")}) {
    HttpCaller caller(gateway_port_, issuer_.pem(), token_);
    const int status = caller.Get(path).status;
    EXPECT_TRUE(status == 404 || status == 403) << path << " " << status;
  }
  HttpCaller caller(gateway_port_, issuer_.pem(), token_);
  caller.Send(absl::StrCat(
      "GET /healthz HTTP/1.1\r\nhost: x.apps.test\r\nauthorization: Bearer ",
      token_, "\r\n\r\n"));
  EXPECT_EQ(caller.Read().status, 404);
  // Nothing listens there.
  HttpReply reply = caller.Get(absl::StrCat("/ports/", session_, "/9999/"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.Header("retry-after"), "1");
  EXPECT_THAT(reply.body, HasSubstr("9999"));
}

TEST_F(GatewayPorts, ALinkIsForOnePortOfOneHost) {
  ASSERT_NO_FATAL_FAILURE(StartProgram());
  RemoteCaller maker(gateway_port_, issuer_.pem(), {},
                     {absl::StrCat("Bearer ", token_)});
  v1::CreateLinkRequest request;
  request.set_session_id(session_);
  request.set_port(8000);
  v1::CreateLinkResponse made;
  ASSERT_THAT(maker.Call(v1::PortService::NewStub(maker.channel()),
                         &v1::PortService::Stub::CreateLink, request, &made),
              IsOk());
  const std::string origin =
      absl::StrCat("https://8000-", session_, ".apps.test");
  ASSERT_THAT(made.url(), StartsWith(origin + ":8443/?sandglass-link="));
  const std::string link = made.url().substr(made.url().find('=') + 1);
  // A browser gets a cookie for it, and is sent on.
  HttpReply reply = OwnGet("/page?x=1&sandglass-link=" + link, "");
  EXPECT_EQ(reply.status, 303);
  EXPECT_EQ(reply.Header("location"), "/page?x=1");
  EXPECT_THAT(reply.Header("set-cookie"),
              ::testing::AllOf(StartsWith("__host-sandglass-link="),
                               HasSubstr("secure; httponly; samesite=lax; "
                                         "path=/; max-age=3")));
  const std::string cookie =
      absl::StrCat("cookie: __Host-sandglass-link=", link, "; other=1\r\n");
  reply = OwnGet("/page?x=1", cookie);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, StartsWith("GET /page?x=1\n"));
  EXPECT_THAT(reply.body, Not(HasSubstr("cookie")));
  EXPECT_EQ(reply.Header("content-security-policy"), "");
  reply = OwnGet("/cookie", cookie);
  EXPECT_EQ(reply.Header("set-cookie"), "__host-a=b; secure; path=/");
  // Pages of another sandbox have it, too, and may not use it.
  EXPECT_EQ(OwnGet("/", cookie + "sec-fetch-site: same-site\r\n").status, 403);
  EXPECT_EQ(
      OwnGet("/", cookie + "origin: https://9-ses-a.apps.test\r\n").status,
      403);
  EXPECT_EQ(
      OwnGet("/", absl::StrCat(cookie, "origin: ", origin, "\r\n")).status,
      200);
  // For another port or session it is nothing, and neither on the API.
  HttpCaller caller(gateway_port_, issuer_.pem());
  caller.Send(absl::StrCat("GET / HTTP/1.1\r\nhost: 8001-", session_,
                           ".apps.test\r\n", cookie, "\r\n"));
  EXPECT_EQ(caller.Read().status, 403);
  EXPECT_EQ(caller.Get(Prefix() + "/", cookie).status, 401);
  EXPECT_EQ(caller
                .Post("/sandglass.v1.IdentityService/WhoAmI", "{}",
                      absl::StrCat("content-type: application/json\r\n"
                                   "authorization: Bearer ",
                                   link, "\r\n"))
                .status,
            401);
  // In the path, for gateways without such hosts.
  EXPECT_THAT(caller.Get(absl::StrCat("/links/", link, "/y")).body,
              StartsWith("GET /y\n"));
  EXPECT_EQ(OwnGet("//evil.org/?sandglass-link=" + link, "").status, 403);
  // It ends with the token of whoever made it.
  v1::ListTokensResponse tokens;
  const auto root = v1::IdentityService::NewStub(
      grpc::CreateChannel(absl::StrCat("unix:", place_, "/sock"),
                          grpc::InsecureChannelCredentials()));
  grpc::ClientContext list;
  ASSERT_THAT(root->ListTokens(&list, v1::ListTokensRequest(), &tokens),
              IsOk());
  for (const auto& token : tokens.tokens()) {
    grpc::ClientContext context;
    v1::RevokeTokenRequest revoke;
    revoke.set_id(token.id());
    v1::RevokeTokenResponse revoked;
    ASSERT_THAT(root->RevokeToken(&context, revoke, &revoked), IsOk());
  }
  EXPECT_EQ(OwnGet("/", cookie).status, 403);
}

TEST_F(GatewayPorts, WebSocketsAreCarried) {
  ASSERT_NO_FATAL_FAILURE(StartProgram());
  HttpCaller caller(gateway_port_, issuer_.pem());
  caller.Send(absl::StrCat(
      "GET ", Prefix(), "/socket HTTP/1.1\r\nhost: x\r\nsandglass-token: ",
      token_, "\r\nconnection: Upgrade\r\nupgrade: websocket\r\n",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
      "sec-websocket-version: 13\r\n\r\nearly"));
  const std::string head = caller.ReadHead();
  EXPECT_THAT(head, StartsWith("http/1.1 101 "));
  EXPECT_THAT(head, HasSubstr("upgrade: websocket"));
  EXPECT_THAT(head,
              HasSubstr("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="));
  EXPECT_EQ(caller.Receive(10), "firstEARLY");
  for (int i = 0; i < 50; ++i) {
    const std::string data(1 + i * 1000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(caller.Send(data));
    EXPECT_EQ(caller.Receive(data.size()).size(), data.size());
  }
  caller.Send("end");
  EXPECT_EQ(caller.Receive(3), "END");
  EXPECT_TRUE(caller.Ends(absl::Seconds(5)));
  // One that the session's end ends.
  HttpCaller other(gateway_port_, issuer_.pem(), token_);
  other.Send(absl::StrCat(
      "GET ", Prefix(), "/socket HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ",
      token_, "\r\nconnection: Upgrade\r\nupgrade: websocket\r\n",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
  EXPECT_THAT(other.ReadHead(), StartsWith("http/1.1 101 "));
  HttpCaller api(gateway_port_, issuer_.pem(), token_);
  EXPECT_EQ(api.Post("/sandglass.v1.SessionService/DeleteSession",
                     json{{"sessionId", session_}}.dump())
                .status,
            200);
  EXPECT_TRUE(other.Ends(absl::Seconds(5)));
}

}  // namespace
}  // namespace sandglass::testing
