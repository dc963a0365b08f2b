// The API over HTTP by a gateway: Connect, gRPC-Web and JSON.

#include <csignal>
#include <map>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "server/base/random_id.h"
#include "tests/e2e/gateway/gateway_fixture.h"
#include "tests/e2e/gateway/http_caller.h"
#include "tests/support/shell.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kRun[] = "/sandglass.v1.SandboxService/RunCode";
constexpr char kStream[] = "/sandglass.v1.SandboxService/StreamRunCode";
constexpr char kStreamType[] = "content-type: application/connect+json\r\n";

class GatewayHttp : public GatewayTest {
 protected:
  void StartOne() {
    ASSERT_NO_FATAL_FAILURE(StartNode("a"));
    ASSERT_NO_FATAL_FAILURE(StartGateway());
    token_ = Token("team", "ci");
  }
  HttpCaller Connected() {
    return HttpCaller(gateway_port_, issuer_.pem(), token_);
  }
  static std::string Bash(const std::string& code) {
    return json{{"language", "bash"}, {"code", code}}.dump();
  }
  uint64_t Running() {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(node("a").client().Info(&info), IsOk());
    return info.admission().running();
  }
  std::string token_;
};

std::string ReasonOf(const HttpReply& reply) {
  const json body = json::parse(reply.body, nullptr, /*exceptions=*/false);
  if (body.is_discarded()) return absl::StrCat("no JSON: ", reply.body);
  for (const json& detail : body.value("details", json::array())) {
    if (detail.value("type", "") == "google.rpc.ErrorInfo") {
      return detail["debug"].value("reason", "");
    }
  }
  return "none";
}

TEST_F(GatewayHttp, ACallIsOneRequest) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller caller = Connected();
  ASSERT_TRUE(caller.connected());
  EXPECT_EQ(caller.protocol(), "http/1.1");
  // All on one connection.
  HttpReply reply =
      caller.Post(kRun, Bash("echo $((6 * 7)); echo to >&2"),
                  "content-type: application/json\r\nsandglass-text: 1\r\n");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.Header("content-type"), "application/json");
  EXPECT_EQ(reply.Header("cache-control"), "no-store");
  const json run = json::parse(reply.body);
  EXPECT_EQ(run["outcome"], "OUTCOME_OK");
  EXPECT_EQ(run["stdout"]["data"], "NDIK");
  EXPECT_EQ(run["stdout"]["text"], "42\n");
  EXPECT_EQ(run["stderr"]["text"], "to\n");
  EXPECT_EQ(server::NodeOfId(run["runId"].get<std::string>()), "a");
  // The gateway's own service.
  reply = caller.Post("/sandglass.v1.IdentityService/WhoAmI", "{}");
  EXPECT_EQ(json::parse(reply.body)["tenant"], "team");
  // A list of all nodes, by GET.
  reply = caller.Get(
      "/sandglass.v1.SandboxService/ListRuns?encoding=json&message=%7B%7D");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(json::parse(reply.body)["runs"][0]["runId"], run["runId"]);
  // Protobuf's binary form, in chunks.
  v1::RunCodeRequest request = testing::Bash("echo in chunks");
  const std::string bytes = request.SerializeAsString();
  std::string chunked = absl::StrCat(
      "POST ", kRun, " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ", token_,
      "\r\ncontent-type: application/proto\r\ntransfer-encoding: chunked\r\n"
      "\r\n");
  for (const char byte : bytes)
    absl::StrAppend(&chunked, "1\r\n", std::string(1, byte), "\r\n");
  ASSERT_TRUE(caller.Send(absl::StrCat(chunked, "0\r\n\r\n")));
  reply = caller.Read();
  v1::RunCodeResponse response;
  ASSERT_TRUE(response.ParseFromString(reply.body)) << reply.head;
  EXPECT_EQ(response.stdout().data(), "in chunks\n");
  // Two requests at once are answered one after the other.
  const std::string type = "content-type: application/json\r\n";
  ASSERT_TRUE(caller.Send(
      absl::StrCat(caller.PostBytes(kRun, Bash("echo one"), type),
                   caller.PostBytes(kRun, Bash("echo two"), type))));
  EXPECT_THAT(caller.Read().body, HasSubstr("b25lCg=="));
  EXPECT_THAT(caller.Read().body, HasSubstr("dHdvCg=="));
}

TEST_F(GatewayHttp, PagesOfItsOwn) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller caller = Connected();
  HttpReply reply = caller.Get("/openapi.json");
  EXPECT_EQ(json::parse(reply.body)["openapi"], "3.1.0");
  EXPECT_EQ(caller.Get("/healthz").status, 200);
  EXPECT_EQ(caller.Get("/").status, 200);
  EXPECT_EQ(caller.Get("/none").status, 404);
  EXPECT_EQ(caller.Get("/sandglass.v1.SandboxService/None").status, 404);
  EXPECT_EQ(caller.Get(kRun).status, 405);
  EXPECT_EQ(caller.Post("/openapi.json", "").status, 405);
  ASSERT_TRUE(caller.Send("HEAD /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n"));
  reply = caller.Read(/*headless=*/true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_GT(reply.Header("content-length").size(), 4U);
  // An older client, whose connection ends with the answer.
  ASSERT_TRUE(caller.Send("GET /healthz HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(caller.Read().body, "ok\n");
  EXPECT_TRUE(caller.Ends(absl::Seconds(5)));
  KillNode("a");
  EXPECT_TRUE(
      WaitUntil([&] { return Connected().Get("/healthz").status == 503; },
                absl::Seconds(20)));
}

TEST_F(GatewayHttp, ErrorsHaveTheirReasons) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller caller = Connected();
  HttpReply reply =
      caller.Post(kRun, R"({"language": "klingon", "code": "x"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(ReasonOf(reply), "LANGUAGE_UNAVAILABLE");
  EXPECT_THAT(reply.body, HasSubstr("klingon"));
  reply = caller.Post(kRun, R"({"language": "bash", "kode": "x"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(ReasonOf(reply), "INVALID_REQUEST");
  reply = caller.Post(kRun, "{}", "content-type: text/plain\r\n");
  EXPECT_EQ(reply.status, 415);
  reply = caller.Post("/sandglass.v1.SessionService/GetSession",
                      R"({"sessionId": "ses-c-0123456789abcdef"})");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(ReasonOf(reply), "NODE_UNKNOWN");

  HttpCaller nobody(gateway_port_, issuer_.pem());
  reply = nobody.Post(kRun, Bash("true"));
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.Header("www-authenticate"), "bearer");
  EXPECT_EQ(ReasonOf(reply), "NO_CREDENTIALS");
  HttpCaller wrong(gateway_port_, issuer_.pem(), "sg-0-x");
  EXPECT_EQ(ReasonOf(wrong.Post(kRun, Bash("true"))), "BAD_CREDENTIALS");
  // No body can say who calls, and no header that this is another's connection.
  reply =
      nobody.Post(kRun, Bash("true"),
                  "content-type: application/json\r\n"
                  "sandglass-connection: -1\r\nsandglass-caller-bin: AA\r\n");
  EXPECT_EQ(ReasonOf(reply), "NO_CREDENTIALS");
  // A gibibyte is refused before it comes, without a node hearing of it.
  ASSERT_TRUE(caller.Send(absl::StrCat(
      "POST ", kRun, " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ", token_,
      "\r\ncontent-type: application/json\r\ncontent-length: 1073741824\r\n"
      "expect: 100-continue\r\n\r\n")));
  reply = caller.Read();
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(ReasonOf(reply), "MESSAGE_TOO_LARGE");
  EXPECT_TRUE(caller.Ends(absl::Seconds(10)));
  // All nodes are away.
  KillNode("a");
  HttpCaller later = Connected();
  EXPECT_TRUE(WaitUntil(
      [&] {
        reply = later.Post(kRun, Bash("true"));
        return ReasonOf(reply) == "NODES_AWAY";
      },
      absl::Seconds(20)))
      << reply.body;
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.Header("retry-after"), Not(StartsWith("0")));
}

TEST_F(GatewayHttp, StreamsComeAsTheyAreWritten) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller caller = Connected();
  const std::string run =
      absl::StrCat(R"({"run": )", Bash("echo begun; sleep 1; echo done"), "}");
  const absl::Time before = absl::Now();
  ASSERT_TRUE(
      caller.Send(caller.PostBytes(kStream, Envelope(run), kStreamType)));
  EXPECT_THAT(caller.ReadHead(), HasSubstr("200"));
  std::string out = caller.ReadChunk();
  while (out.find("YmVndW4K") == std::string::npos) {
    const std::string chunk = caller.ReadChunk();
    ASSERT_FALSE(chunk.empty()) << out;
    out += chunk;
  }
  EXPECT_LT(absl::Now() - before, absl::Seconds(1));
  std::string last;
  for (std::string next = caller.ReadChunk(); !next.empty();
       next = caller.ReadChunk()) {
    out += next;
    last = next;
  }
  EXPECT_THAT(out, HasSubstr("OUTCOME_OK"));
  EXPECT_EQ(last, Envelope("{}", 2));
  // The connection goes on; by gRPC-Web the status is in the last frame.
  v1::RunCodeRequest request = testing::Bash("echo web");
  const HttpReply reply =
      caller.Post(kRun, Envelope(request.SerializeAsString()),
                  "content-type: application/grpc-web+proto\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("web\n"));
  EXPECT_THAT(reply.body, HasSubstr("grpc-status: 0"));
}

TEST_F(GatewayHttp, FilesAreStreamedBothWays) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller caller = Connected();
  HttpReply reply =
      caller.Post("/sandglass.v1.SessionService/CreateSession", "{}");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::string id = json::parse(reply.body)["session"]["sessionId"];
  v1::WriteFileRequest write;
  write.mutable_start()->set_session_id(id);
  write.mutable_start()->set_path("big");
  std::string body = Envelope(write.SerializeAsString());
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 8; ++i) {
    v1::WriteFileRequest more;
    more.set_data(piece);
    more.set_finish(i == 7);
    body += Envelope(more.SerializeAsString());
  }
  reply = caller.Post("/sandglass.v1.FileService/WriteFile", body,
                      "content-type: application/connect+proto\r\n");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body.substr(reply.body.size() - 7), Envelope("{}", 2));
  v1::ReadFileRequest read;
  read.set_session_id(id);
  read.set_path("big");
  reply = caller.Post("/sandglass.v1.FileService/ReadFile",
                      Envelope(read.SerializeAsString()),
                      "content-type: application/connect+proto\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_GE(reply.body.size(), 8 * piece.size());
  EXPECT_LT(reply.body.size(), 9 * piece.size());
  // A stream that breaks off after its beginning.
  body = absl::StrCat(Envelope(write.SerializeAsString()),
                      std::string("\0\0\0\0\5x", 6));
  reply = caller.Post("/sandglass.v1.FileService/WriteFile", body,
                      "content-type: application/connect+proto\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("BAD_ENVELOPE"));
  // One that is refused while it still comes.
  write.mutable_start()->set_session_id("ses-a-0123456789abcdef");
  body = Envelope(write.SerializeAsString());
  for (int i = 0; i < 8; ++i) {
    v1::WriteFileRequest more;
    more.set_data(piece);
    more.set_finish(i == 7);
    body += Envelope(more.SerializeAsString());
  }
  HttpCaller other = Connected();
  reply = other.Post("/sandglass.v1.FileService/WriteFile", body,
                     "content-type: application/connect+proto\r\n");
  EXPECT_THAT(reply.body, HasSubstr("SESSION_NOT_FOUND"));
}

TEST_F(GatewayHttp, WhoGoesAwayEndsTheCall) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  {
    HttpCaller caller = Connected();
    ASSERT_TRUE(caller.Send(caller.PostBytes(
        kRun, Bash("sleep 60"), "content-type: application/json\r\n")));
    EXPECT_TRUE(WaitUntil([&] { return Running() == 1; }, absl::Seconds(10)));
    caller.HangUp();
    EXPECT_TRUE(WaitUntil([&] { return Running() == 0; }, absl::Seconds(10)));
  }
  HttpCaller caller = Connected();
  ASSERT_TRUE(caller.Send(caller.PostBytes(
      kStream, Envelope(absl::StrCat(R"({"run": )", Bash("sleep 60"), "}")),
      kStreamType)));
  EXPECT_TRUE(WaitUntil([&] { return Running() == 1; }, absl::Seconds(10)));
  caller.HangUp();
  EXPECT_TRUE(WaitUntil([&] { return Running() == 0; }, absl::Seconds(10)));
  // A deadline, too, which the node makes a limit of the run.
  const HttpReply reply = Connected().Post(
      kRun, Bash("sleep 60"),
      "content-type: application/json\r\nconnect-timeout-ms: 700\r\n");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("OUTCOME_TIMEOUT"));
  EXPECT_TRUE(WaitUntil([&] { return Running() == 0; }, absl::Seconds(10)));
}

TEST_F(GatewayHttp, CallsAreCountedAndLogged) {
  more_config_ =
      R"("metrics": {"listen": "127.0.0.1:0"}, "log": {"calls": true}, )";
  ASSERT_NO_FATAL_FAILURE(StartOne());
  // The port is in the log, which was read up to where it listens.
  ASSERT_THAT(gateway().error_text(), HasSubstr("metrics_on"));
  const std::string log = gateway().error_text();
  const size_t at = log.find(" port=", log.find("metrics_on"));
  int port = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(log.substr(at + 6, log.find('\n', at) - at - 6), &port));
  HttpCaller caller = Connected();
  EXPECT_EQ(caller.Post(kRun, Bash("true")).status, 200);
  EXPECT_EQ(caller
                .Post("/sandglass.v1.SessionService/GetSession",
                      R"({"sessionId": "ses-c-0123456789abcdef"})")
                .status,
            404);
  RemoteCaller grpc = Caller("others", "x");
  v1::ListRunsResponse runs;
  ASSERT_THAT(grpc.Call(v1::SandboxService::NewStub(grpc.channel()),
                        &v1::SandboxService::Stub::ListRuns,
                        v1::ListRunsRequest(), &runs),
              IsOk());
  const std::string text =
      RunShell(absl::StrCat("curl -s http://127.0.0.1:", port, "/metrics"));
  for (const char* line :
       {"sandglass_gateway_calls_total{code=\"OK\",node=\"a\",route=\"run\"} 1",
        "sandglass_gateway_calls_total{code=\"OK\",node=\"every\"",
        "sandglass_gateway_tenant_calls_total{code=\"OK\",tenant=\"team\"} 1",
        "sandglass_gateway_tenant_calls_total{code=\"OK\",tenant=\"others\"} 1",
        "sandglass_gateway_refused_total{code=\"NOT_FOUND\","
        "reason=\"NODE_UNKNOWN\"} 1",
        "sandglass_gateway_node_there{node=\"a\"} 1",
        "sandglass_gateway_connections{protocol=\"http\"} 1",
        "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"RunCode\""}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  ASSERT_TRUE(gateway().ReadErrorUntil("ListRuns"));
  EXPECT_THAT(gateway().error_text(),
              HasSubstr("call method=/sandglass.v1.SandboxService/RunCode "
                        "caller=team/ci address=127.0.0.1 protocol=http node=a "
                        "tries=1 code=OK ms="));
  EXPECT_THAT(gateway().error_text(), HasSubstr("reason=NODE_UNKNOWN"));
  EXPECT_THAT(gateway().error_text(), Not(HasSubstr(token_)));
}

TEST_F(GatewayHttp, PagesOfAllowedOriginsMayReadAnswers) {
  more_config_ = R"("http": {"cors_origins": ["https://app.example.org"]}, )";
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller caller = Connected();
  const auto ask = [&](const std::string& origin) {
    caller.Send(absl::StrCat(
        "OPTIONS ", kRun, " HTTP/1.1\r\nhost: x\r\norigin: ", origin,
        "\r\naccess-control-request-method: POST\r\n\r\n"));
    return caller.Read(/*headless=*/true);
  };
  HttpReply reply = ask("https://app.example.org");
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.Header("access-control-allow-origin"),
            "https://app.example.org");
  EXPECT_THAT(reply.Header("access-control-allow-headers"),
              HasSubstr("authorization"));
  EXPECT_EQ(
      ask("https://evil.example.org").Header("access-control-allow-origin"),
      "");
  const auto run = [&](const std::string& origin) {
    return caller.Post(
        kRun, Bash("echo x"),
        absl::StrCat("content-type: application/json\r\norigin: ", origin,
                     "\r\n"));
  };
  EXPECT_EQ(
      run("https://app.example.org").Header("access-control-allow-origin"),
      "https://app.example.org");
  EXPECT_THAT(run("https://evil.example.org").head,
              Not(HasSubstr("access-control-allow")));
}

TEST_F(GatewayHttp, GrpcAndHttpShareTheAddress) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  // Who offers both, as browsers and curl do, gets HTTP/1.1.
  HttpCaller both(gateway_port_, issuer_.pem(), token_, {"h2", "http/1.1"});
  ASSERT_TRUE(both.connected());
  EXPECT_EQ(both.protocol(), "http/1.1");
  EXPECT_EQ(both.Get("/healthz").status, 200);
  // Who offers nothing, too.
  HttpCaller none(gateway_port_, issuer_.pem(), token_, {});
  ASSERT_TRUE(none.connected());
  EXPECT_EQ(none.Get("/healthz").status, 200);
  HttpCaller h2(gateway_port_, issuer_.pem(), token_, {"h2"});
  ASSERT_TRUE(h2.connected());
  EXPECT_EQ(h2.protocol(), "h2");
}

TEST_F(GatewayHttp, WhatIsUnderWayEndsBeforeTheGateway) {
  ASSERT_NO_FATAL_FAILURE(StartOne());
  HttpCaller idle = Connected();
  EXPECT_EQ(idle.Get("/healthz").status, 200);
  HttpCaller busy = Connected();
  ASSERT_TRUE(busy.Send(busy.PostBytes(kRun, Bash("sleep 1; echo done"),
                                       "content-type: application/json\r\n")));
  EXPECT_TRUE(WaitUntil([&] { return Running() == 1; }, absl::Seconds(10)));
  HttpCaller endless = Connected();
  ASSERT_TRUE(endless.Send(endless.PostBytes(
      kStream, Envelope(absl::StrCat(R"({"run": )", Bash("sleep 60"), "}")),
      kStreamType)));
  EXPECT_TRUE(WaitUntil([&] { return Running() == 2; }, absl::Seconds(10)));
  gateway().Signal(SIGTERM);
  EXPECT_TRUE(idle.Ends(absl::Seconds(2)));
  const HttpReply reply = busy.Read();
  EXPECT_EQ(reply.status, 200) << reply.head;
  EXPECT_EQ(reply.Header("connection"), "close");
  EXPECT_THAT(reply.body, HasSubstr("ZG9uZQo="));
  // This one has had its time (drain_timeout).
  EXPECT_TRUE(endless.Ends(absl::Seconds(10)));
  EXPECT_TRUE(WaitUntil([&] { return Running() == 0; }, absl::Seconds(10)));
}

}  // namespace
}  // namespace sandglass::testing
