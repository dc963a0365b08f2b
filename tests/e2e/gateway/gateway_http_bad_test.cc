// What clients of HTTP may send to a gateway that they should not.

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/e2e/gateway/gateway_fixture.h"
#include "tests/e2e/gateway/http_caller.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kRun[] = "/sandglass.v1.SandboxService/RunCode";
constexpr char kBody[] = R"({"language": "bash", "code": "echo ran"})";

class GatewayHttpBad : public GatewayTest {
 protected:
  void StartOne() {
    ASSERT_NO_FATAL_FAILURE(StartNode("a"));
    ASSERT_NO_FATAL_FAILURE(StartGateway());
    token_ = Token("team", "ci");
  }
  HttpCaller Connected() {
    return HttpCaller(gateway_port_, issuer_.pem(), token_);
  }
  // A call whose head has these lines, too.
  std::string Request(const std::string& lines, const std::string& body) {
    return absl::StrCat(
        "POST ", kRun, " HTTP/1.1\r\nhost: x\r\n", "authorization: Bearer ",
        token_, "\r\ncontent-type: application/json\r\n", lines, "\r\n", body);
  }
  std::string token_;
};

TEST_F(GatewayHttpBad, RequestsThatOthersReadOtherwiseAreRefused) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  const std::string length =
      absl::StrCat("content-length: ", sizeof(kBody) - 1, "\r\n");
  const std::string inner = "GET /healthz HTTP/1.1\r\nhost: y\r\n\r\n";
  struct Case {
    const char* name;
    std::string bytes;
  };
  const std::vector<Case> cases = {
      {"two lengths, the same", Request(length + length, kBody)},
      {"two lengths", Request(length + "content-length: 0\r\n", kBody)},
      {"length and chunks",
       Request(length + "transfer-encoding: chunked\r\n", "0\r\n\r\n" + inner)},
      {"chunks and length",
       Request("transfer-encoding: chunked\r\n" + length, "0\r\n\r\n" + inner)},
      {"an encoding nobody knows",
       Request("transfer-encoding: xchunked\r\n", "0\r\n\r\n" + inner)},
      {"two encodings", Request("transfer-encoding: gzip, chunked\r\n", inner)},
      {"a space before the colon",
       Request("transfer-encoding : chunked\r\n", inner)},
      {"a tab before the value",
       Request("transfer-encoding:\x0b chunked\r\n", inner)},
      {"a second line", Request(length + "x: a\r\n b\r\n", kBody)},
      {"a bare LF", Request("x: y\ncontent-length: 0\r\n", kBody)},
      {"a bare CR", Request("x: y\rcontent-length: 0\r\n", kBody)},
      {"a NUL", Request(std::string("x: y\0z\r\n", 8) + length, kBody)},
      {"a sign", Request("content-length: +5\r\n", kBody)},
      {"hexadecimal", Request("content-length: 0x5\r\n", kBody)},
      {"a negative one", Request("content-length: -1\r\n", kBody)},
      {"too long a length",
       Request("content-length: 99999999999999999999\r\n", kBody)},
      {"two hosts", Request(length + "host: y\r\n", kBody)},
      {"no host", "GET /healthz HTTP/1.1\r\n\r\n"},
      {"another target",
       "GET http://other/healthz HTTP/1.1\r\nhost: x\r\n\r\n"},
      {"a tunnel", "CONNECT other:443 HTTP/1.1\r\nhost: x\r\n\r\n"},
      {"no version", "GET /healthz\r\n\r\n"},
      {"another version", "GET /healthz HTTP/3.0\r\nhost: x\r\n\r\n"},
      {"chunks in 1.0",
       "POST /healthz HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"no header", Request("none\r\n" + length, kBody)},
      {"an empty name", Request(": x\r\n" + length, kBody)},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"bad chunks",
       Request("transfer-encoding: chunked\r\n", "zz\r\nabc\r\n0\r\n\r\n")},
      {"an extension of a chunk",
       Request("transfer-encoding: chunked\r\n",
               "2;a=\"\x01\n\"\r\n{}\r\n0\r\n\r\n" + inner)},
      {"chunks with a bare LF",
       Request("transfer-encoding: chunked\r\n", "5\nhello\r\n0\r\n\r\n")},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    HttpCaller caller = Connected();
    ASSERT_TRUE(caller.connected());
    caller.Send(each.bytes);
    const HttpReply reply = caller.Read();
    EXPECT_EQ(reply.status, 400) << reply.head << reply.body;
    // Nothing behind it is taken for a request.
    EXPECT_TRUE(caller.Ends(absl::Seconds(5)));
  }
  // HTTP/2 isn't spoken on a connection that began with HTTP/1.1.
  HttpCaller caller = Connected();
  caller.Send(
      "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade, "
      "http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n");
  const HttpReply reply = caller.Read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "ok\n");
}

TEST_F(GatewayHttpBad, HeadsAndWaitingHaveBounds) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller large = Connected();
  large.Send(absl::StrCat("GET / HTTP/1.1\r\nhost: x\r\nx: ",
                          std::string(40 << 10, 'x'), "\r\n\r\n"));
  EXPECT_EQ(large.Read().status, 431);
  HttpCaller other = Connected();
  other.Send(Request("expect: miracles\r\n", ""));
  EXPECT_EQ(other.Read().status, 417);
  // Many that send a byte now and then, or nothing.
  std::vector<std::unique_ptr<HttpCaller>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<HttpCaller>(gateway_port_, issuer_.pem()));
    ASSERT_TRUE(slow.back()->connected());
    if (i % 2 == 0) slow.back()->Send("GET / HTTP/1.1\r\nx: ");
  }
  const absl::Time end = absl::Now() + absl::Seconds(8);
  while (absl::Now() < end) {
    for (size_t i = 0; i < slow.size(); i += 2) slow[i]->Send("x");
    EXPECT_EQ(Connected().Get("/healthz").status, 200);
    absl::SleepFor(absl::Milliseconds(500));
  }
  for (const auto& each : slow) EXPECT_TRUE(each->Ends(absl::Seconds(8)));
}

TEST_F(GatewayHttpBad, ConnectionsMakeRoomForOthers) {
  more_config_ = R"("http": {"connections": 8}, )";
  ASSERT_NO_FATAL_FAILURE(StartOne());
  std::vector<std::unique_ptr<HttpCaller>> idle;
  for (int i = 0; i < 30; ++i) {
    idle.push_back(std::make_unique<HttpCaller>(gateway_port_, issuer_.pem()));
    EXPECT_EQ(idle.back()->Get("/healthz").status, 200) << i;
  }
  // Those that waited longest have gone.
  EXPECT_TRUE(idle.front()->Ends(absl::Seconds(5)));
  EXPECT_EQ(idle.back()->Get("/healthz").status, 200);
}

TEST_F(GatewayHttpBad, WhoSendsWithoutEndLeavesOthersTheirTurn) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  std::string flood;
  for (int i = 0; i < 500; ++i) {
    flood += "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
  }
  std::atomic<bool> over = false;
  std::vector<std::thread> flooders;
  for (int i = 0; i < 8; ++i) {
    flooders.emplace_back([&, i] {
      while (!over) {
        HttpCaller caller(gateway_port_, issuer_.pem());
        if (!caller.connected()) return;
        // Half of them read what they get, and half send empty lines alone.
        for (int n = 0; n < 1000 && !over; ++n) {
          if (i % 2 == 0) {
            if (!caller.Send(flood)) break;
            for (int reply = 0; reply < 500; ++reply) (void)caller.Read();
          } else if (!caller.Send(std::string(1 << 16, '\n')) &&
                     !caller.Send("\r\n")) {
            break;
          }
        }
      }
    });
  }
  absl::SleepFor(absl::Seconds(1));
  for (int i = 0; i < 10; ++i) {
    const absl::Time before = absl::Now();
    EXPECT_EQ(Connected().Post(kRun, kBody).status, 200);
    EXPECT_LT(absl::Now() - before, absl::Seconds(4));
  }
  const absl::Time before = absl::Now();
  gateway().Signal(SIGTERM);
  EXPECT_TRUE(gateway().ReadErrorUntil("stopping"));
  gateway().Wait();
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
  over = true;
  for (std::thread& flooder : flooders) flooder.join();
}

TEST_F(GatewayHttpBad, WhoReadsNothingKeepsNoPlaces) {
  more_config_ = R"("http": {"connections": 16}, )";
  ASSERT_NO_FATAL_FAILURE(StartOne());
  std::vector<std::unique_ptr<HttpCaller>> silent;
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
  }
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<HttpCaller>(
        gateway_port_, issuer_.pem(), "", std::vector<std::string>{"http/1.1"},
        "127.0.0.2"));
    silent.back()->Send(i % 2 == 0 ? many : "G");
  }
  absl::SleepFor(absl::Seconds(1));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Connected().Post(kRun, kBody).status, 200) << i;
  }
}

TEST_F(GatewayHttpBad, AStreamOfRequestsEndsWithItsCallAndItsClient) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  const auto begin = [&](HttpCaller& caller, const std::string& body) {
    caller.Send(absl::StrCat(
        "POST /sandglass.v1.ExecService/Execute HTTP/1.1\r\nhost: x\r\n"
        "authorization: Bearer ",
        token_,
        "\r\ncontent-type: application/connect+json\r\n"
        "transfer-encoding: chunked\r\n\r\n",
        absl::StrCat(absl::Hex(body.size())), "\r\n", body, "\r\n"));
  };
  // What is wrong is said while the client could go on.
  HttpCaller unknown = Connected();
  begin(unknown,
        Envelope(R"({"start": {"spec": {"sessionId": "ses-a-0123456789abcdef",
                     "command": "true"}}})"));
  const absl::Time before = absl::Now();
  EXPECT_THAT(unknown.Read().body, HasSubstr("SESSION_NOT_FOUND"));
  EXPECT_LT(absl::Now() - before, absl::Seconds(5));
  // One whose program reads nothing, and whose client goes away meanwhile.
  const HttpReply created =
      Connected().Post("/sandglass.v1.SessionService/CreateSession", "{}");
  const size_t at = created.body.find("ses-a-");
  ASSERT_NE(at, std::string::npos) << created.body;
  const std::string id = created.body.substr(at, 22);
  const std::string input = Envelope(
      absl::StrCat(R"({"stdin": ")", std::string(1 << 20, 'A'), R"("})"));
  for (const bool hang_up : {true, false}) {
    HttpCaller caller = Connected();
    begin(caller, Envelope(absl::StrCat(
                      R"({"start": {"spec": {"sessionId": ")", id,
                      R"(", "command": "sleep 60", "openStdin": true}}})")));
    std::thread sender([&] {
      for (int i = 0; i < 20; ++i) {
        if (!caller.Send(absl::StrCat(absl::StrCat(absl::Hex(input.size())),
                                      "\r\n", input, "\r\n"))) {
          return;
        }
      }
    });
    absl::SleepFor(absl::Seconds(2));
    if (hang_up) {
      caller.Break();
      sender.join();
      // The command ends with its client.
      EXPECT_TRUE(WaitUntil(
          [&] {
            const HttpReply list = Connected().Post(
                "/sandglass.v1.ExecService/ListExecs",
                absl::StrCat(R"({"sessionId": ")", id, R"("})"));
            return list.body.find("RUNNING") == std::string::npos;
          },
          absl::Seconds(15)));
      continue;
    }
    // And the gateway ends in its time.
    const absl::Time end = absl::Now();
    gateway().Signal(SIGTERM);
    EXPECT_EQ(gateway().Wait().exit_code, 0);
    EXPECT_LT(absl::Now() - end, absl::Seconds(10));
    caller.Break();
    sender.join();
  }
}

TEST_F(GatewayHttpBad, BombsOfJsonAreRefused) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller caller = Connected();
  std::string many = R"({"language": "bash", "code": "", "args": [)";
  for (int i = 0; i < 200'000; ++i) many += "\"\",";
  many += "\"\"]}";
  for (const std::string& body :
       {std::string(100'000, '['), std::string(100'000, '{'),
        absl::StrCat(R"({"code": )", std::string(5000, '9'), "}"), many,
        std::string(R"({"code": "a", "code": "b"})"),
        std::string("{\"code\": \"\xff\"}"), std::string("{\"code\": 1e999}"),
        std::string("nul"), std::string()}) {
    const HttpReply reply = caller.Post(kRun, body);
    EXPECT_EQ(reply.status, 400) << body.substr(0, 40);
    EXPECT_THAT(reply.body, HasSubstr("invalid_argument"));
  }
  // Envelopes that promise more than comes, and what nobody knows.
  const std::string type = "content-type: application/connect+json\r\n";
  const std::string path = "/sandglass.v1.SandboxService/StreamRunCode";
  for (const std::string& body :
       {std::string("\0\xff\xff\xff\xff", 5), std::string("\1\0\0\0\1x", 6),
        std::string("\0\0\0\0", 4), std::string("\x80\0\0\0\2{}", 7),
        Envelope("{}") + Envelope("{}"), std::string()}) {
    const HttpReply reply = Connected().Post(path, body, type);
    EXPECT_EQ(reply.status, 200);
    EXPECT_THAT(reply.body, HasSubstr("\"error\""));
  }
  EXPECT_EQ(Connected().Post(kRun, kBody).status, 200);
}

}  // namespace
}  // namespace sandglass::testing
