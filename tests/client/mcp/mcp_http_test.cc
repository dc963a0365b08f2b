// The Model Context Protocol over HTTP, by raw sockets, without a daemon.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/base/file_io.h"
#include "client/base/unique_fd.h"
#include "client/connection/address.h"
#include "client/mcp/http/http_server.h"
#include "client/mcp/http/mcp_endpoint.h"
#include "client/mcp/json_rpc.h"
#include "client/mcp/stop_signal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/mcp/mcp_fixture.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kLasting[] =
    "Host: localhost\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\n";
// The same of a connection's last request.
constexpr char kUsual[] =
    "Host: localhost\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\nConnection: close\r\n";
constexpr char kModernHeader[] = "MCP-Protocol-Version: 2026-07-28\r\n";

// A POST with these headers.
std::string Post(const std::string& headers, const std::string& body) {
  return absl::StrCat("POST /mcp HTTP/1.1\r\n", headers,
                      "Content-Length: ", body.size(), "\r\n\r\n", body);
}

// What stands behind the head.
std::string BodyOf(const std::string& response) {
  return response.substr(response.find("\r\n\r\n") + 4);
}
Json JsonOf(const std::string& response) {
  return Json::parse(BodyOf(response), nullptr, false);
}

class McpHttpTest : public ::testing::Test {
 protected:
  McpHttpTest() : McpHttpTest(EndpointOptions()) {}
  explicit McpHttpTest(EndpointOptions options, HttpBounds bounds = {})
      : endpoint_(protocol_, std::move(options)) {
    signal(SIGPIPE, SIG_IGN);
    std::promise<std::string> listening;
    thread_ = std::thread([this, &listening, bounds] {
      const absl::Status served = ServeHttp(
          *ParseListenAddress("127.0.0.1:0"), bounds, endpoint_, stop_,
          [&](const std::string& address) { listening.set_value(address); });
      EXPECT_TRUE(served.ok()) << served;
    });
    address_ = listening.get_future().get();
  }
  ~McpHttpTest() override {
    stop_.Set();
    thread_.join();
  }

  UniqueFd Open() {
    const absl::StatusOr<Address> address = ParseAddress(address_);
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience = {20, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(
        connect(fd.get(),
                reinterpret_cast<const sockaddr*>(&address->socket_address),
                address->socket_address_length),
        0);
    return fd;
  }
  // All that comes until the end.
  static std::string ReadAll(const UniqueFd& fd) {
    std::string all;
    char chunk[65536];
    for (;;) {
      const ssize_t got = recv(fd.get(), chunk, sizeof(chunk), 0);
      if (got <= 0) return all;
      all.append(chunk, static_cast<size_t>(got));
    }
  }
  std::string Exchange(const std::string& request) {
    const UniqueFd fd = Open();
    WriteAll(fd.get(), request);
    return ReadAll(fd);
  }
  // A modern call with the headers that belong to it.
  std::string ModernCall(const std::string& params, const std::string& name) {
    return Exchange(
        Post(absl::StrCat(kUsual, kModernHeader,
                          "Mcp-Method: tools/call\r\nMcp-Name: ", name, "\r\n"),
             ModernRequest("1", "tools/call", params)));
  }

  McpTools tools_;
  const McpProtocol protocol_{tools_.Table()};
  const McpEndpoint endpoint_;
  const StopSignal stop_;
  std::string address_;
  std::thread thread_;
};

class McpHttpSlowTest : public McpHttpTest {
 protected:
  McpHttpSlowTest()
      : McpHttpTest(EndpointOptions(),
                    HttpBounds{.patience = absl::Milliseconds(500)}) {}
};

class McpHttpTokenTest : public McpHttpTest {
 protected:
  McpHttpTokenTest()
      : McpHttpTest(EndpointOptions{.token = "0123456789abcdef",
                                    .loopback_hosts_only = false}) {}
  std::string With(const std::string& header) {
    return Exchange(Post(absl::StrCat(kUsual, header), Request("1", "ping")));
  }
};

TEST_F(McpHttpTest, AnEarlierClientWorksWithoutASession) {
  const std::string hello =
      Exchange(Post(kUsual, Request("1", "initialize",
                                    R"({"protocolVersion":"2025-06-18"})")));
  EXPECT_THAT(hello, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(hello, Not(HasSubstr("Session")));
  EXPECT_EQ(JsonOf(hello)["result"]["protocolVersion"], "2025-06-18");
  const std::string accepted = Exchange(
      Post(absl::StrCat(kUsual, "MCP-Protocol-Version: 2025-06-18\r\n"),
           R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
  EXPECT_THAT(accepted, StartsWith("HTTP/1.1 202 Accepted\r\n"));
  EXPECT_EQ(BodyOf(accepted), "");
  const std::string answer = Exchange(
      Post(absl::StrCat(kUsual, "MCP-Protocol-Version: 2025-06-18\r\n"),
           Request("2", "tools/call", CallOf("echo", R"({"text":"a"})"))));
  EXPECT_EQ(JsonOf(answer)["result"]["content"][0]["text"], "a");
  // What isn't there is no reason to think that a session is gone.
  EXPECT_THAT(Exchange(Post(kUsual, Request("3", "prompts/list"))),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("-32601")));
}

TEST_F(McpHttpTest, OnlyPostIsServedAndOnlyAtItsPath) {
  for (const char* method : {"GET", "DELETE", "OPTIONS", "PUT"}) {
    EXPECT_THAT(Exchange(absl::StrCat(method, " /mcp HTTP/1.1\r\n", kUsual,
                                      "Content-Length: 0\r\n\r\n")),
                AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: POST")));
  }
  EXPECT_THAT(Exchange(absl::StrCat("GET / HTTP/1.1\r\n", kUsual, "\r\n")),
              StartsWith("HTTP/1.1 404"));
}

TEST_F(McpHttpTest, PagesOfOtherOriginsAreRefused) {
  const auto from = [&](const std::string& origin) {
    return Exchange(Post(absl::StrCat(kUsual, "Origin: ", origin, "\r\n"),
                         Request("1", "ping")));
  };
  for (const char* origin :
       {"https://evil.example", "null", "http://localhost.evil.example",
        "http://127.0.0.1.evil.example:80", "file://localhost", ""}) {
    EXPECT_THAT(from(origin), StartsWith("HTTP/1.1 403")) << origin;
  }
  for (const char* origin :
       {"http://localhost:6274", "http://127.0.0.1", "https://[::1]:8443"}) {
    EXPECT_THAT(from(origin), StartsWith("HTTP/1.1 200")) << origin;
  }
}

TEST_F(McpHttpTest, ANameThatWasMadeToPointHereIsRefused) {
  for (const char* host : {"evil.example", "evil.example:80", ""}) {
    EXPECT_THAT(Exchange(absl::StrCat(
                    "POST /mcp HTTP/1.1\r\nHost: ", host,
                    "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")),
                StartsWith("HTTP/1.1 421"))
        << host;
  }
  EXPECT_THAT(Exchange("POST /mcp HTTP/1.1\r\nConnection: "
                       "close\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 421"));
}

TEST_F(McpHttpTokenTest, ARequestWithoutATokenIsRefused) {
  EXPECT_THAT(With(""), AllOf(StartsWith("HTTP/1.1 401"),
                              HasSubstr("WWW-Authenticate: Bearer")));
  for (const char* wrong : {"Bearer 0123456789abcdeX", "Bearer 0123456789abcde",
                            "Bearer ", "Bearer 0123456789abcdef0",
                            "Basic 0123456789abcdef", "0123456789abcdef"}) {
    EXPECT_THAT(With(absl::StrCat("Authorization: ", wrong, "\r\n")),
                StartsWith("HTTP/1.1 401"))
        << wrong;
  }
  EXPECT_THAT(With("Authorization: Bearer 0123456789abcdef\r\n"
                   "Authorization: Bearer 0123456789abcdef\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(With("Authorization: bearer 0123456789abcdef\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(McpHttpTest, TypesThatArentSpokenAreRefused) {
  const std::string host = "Host: localhost\r\nConnection: close\r\n";
  const std::string json = "Content-Type: application/json\r\n";
  const std::string body = Request("1", "ping");
  EXPECT_THAT(Exchange(Post(host, body)), StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(Exchange(Post(host + "Content-Type: text/plain\r\n", body)),
              StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(Exchange(Post(host + json + "Accept: text/html\r\n", body)),
              StartsWith("HTTP/1.1 406"));
  EXPECT_THAT(
      Exchange(Post(host + "Content-Type: Application/JSON; charset=utf-8\r\n",
                    body)),
      StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(
      Exchange(Post(host + json + "Accept: text/event-stream\r\n", body)),
      AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\ndata: {")));
}

TEST_F(McpHttpTest, ABodyAboveTheLimitIsRefused) {
  const std::string body =
      Request("1", "ping",
              absl::StrCat("{\"a\":\"", std::string(kMaxRpcBytes, 'x'), "\"}"));
  EXPECT_THAT(Exchange(Post(kUsual, body)),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("at most")));
  // Not even begun.
  EXPECT_THAT(Exchange(absl::StrCat("POST /mcp HTTP/1.1\r\n", kUsual,
                                    "Content-Length: 99999999999\r\n\r\n")),
              StartsWith("HTTP/1.1 413"));
}

TEST_F(McpHttpTest, WhatIsNotHttpIsRefused) {
  const std::string post = absl::StrCat("POST /mcp HTTP/1.1\r\n", kUsual);
  EXPECT_THAT(Exchange("hello\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Exchange(post + "no colon\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Exchange(post + "X: a\001b\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Exchange(post + "\r\n"), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(Exchange(post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Exchange(post + "Content-Length: -1\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  // A length that another reader might understand in another way.
  for (const char* header :
       {"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: gzip\r\n"}) {
    EXPECT_THAT(Exchange(absl::StrCat(post, header, "\r\n0\r\n\r\n")),
                StartsWith("HTTP/1.1 400"))
        << header;
  }
  EXPECT_THAT(
      Exchange(absl::StrCat(post, "X: ", std::string(40'000, 'x'), "\r\n\r\n")),
      StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Exchange(absl::StrCat(post, "X: ", std::string(1'000'000, 'x'))),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Exchange(Post(kUsual, "[]")),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("-32600")));
  EXPECT_THAT(Exchange(Post(kUsual, "{")),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("-32700")));
}

TEST_F(McpHttpTest, ABodyMayComeInChunks) {
  const std::string body = Request("1", "ping");
  const auto chunk = [](const std::string& bytes) {
    return absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n");
  };
  const std::string head = absl::StrCat("POST /mcp HTTP/1.1\r\n", kUsual,
                                        "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(Exchange(absl::StrCat(head, chunk(body.substr(0, 7)),
                                    chunk(body.substr(7)), "0\r\n\r\n")),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"id\":1")));
  const std::string half(kMaxRpcBytes / 2 + 1, ' ');
  EXPECT_THAT(Exchange(absl::StrCat(head, chunk(half), chunk(half))),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("at most")));
  EXPECT_THAT(Exchange(absl::StrCat(head, "x\r\n")),
              StartsWith("HTTP/1.1 400"));
}

TEST_F(McpHttpTest, AConnectionServesRequestsOneAfterTheOther) {
  const UniqueFd fd = Open();
  // What follows a call may be there before the call has ended.
  WriteAll(
      fd.get(),
      absl::StrCat(
          // Some clients end a body with a line of its own.
          Post(kLasting, Request("1", "ping")), "\r\n",
          Post(kLasting, Request("2", "tools/call", CallOf("talk"))),
          Post(kLasting, Request("3", "tools/call", CallOf("talk", "{}", "3"))),
          "GET /mcp HTTP/1.1\r\n", kLasting, "\r\n",
          Post(kUsual, Request("4", "ping"))));
  const std::string all = ReadAll(fd);
  size_t last = 0;
  for (const char* words :
       {"\"id\":1,", "\"id\":2,", "Transfer-Encoding: chunked\r\n",
        "notifications/progress", "\"id\":3,", "\r\n0\r\n\r\nHTTP/1.1 405",
        "HTTP/1.1 200 OK\r\n", "Connection: close\r\n", "\"id\":4,"}) {
    const size_t found = all.find(words, last);
    ASSERT_NE(found, std::string::npos) << words << " in " << all;
    last = found;
  }
}

TEST_F(McpHttpTest, AClientOfHttp10SeesAnEndByThatOfTheConnection) {
  std::string call =
      Post(kLasting, Request("1", "tools/call", CallOf("talk", "{}", "1")));
  call.replace(call.find("HTTP/1.1"), 8, "HTTP/1.0");
  EXPECT_THAT(
      Exchange(call),
      AllOf(StartsWith("HTTP/1.0 200"), HasSubstr("\"talked\""),
            HasSubstr("\r\n\r\nevent: message\n"), Not(HasSubstr("chunked"))));
}

TEST_F(McpHttpSlowTest, WhoDoesNotGoOnIsLetGo) {
  const std::string whole = Post(kLasting, Request("1", "ping"));
  for (const size_t bytes : {size_t{0}, size_t{10}, whole.size() - 1}) {
    const UniqueFd fd = Open();
    WriteAll(fd.get(), whole.substr(0, bytes));
    EXPECT_EQ(ReadAll(fd), "");
  }
  // It doesn't help to go on slowly.
  const UniqueFd drips = Open();
  for (int i = 0; i < 40 && send(drips.get(), "P", 1, MSG_NOSIGNAL) == 1; ++i) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(ReadAll(drips), "");
  // Nor to have had an answer.
  EXPECT_THAT(Exchange(whole), StartsWith("HTTP/1.1 200"));
}

TEST_F(McpHttpSlowTest, WhoReadsNothingOfAnAnswerIsLetGo) {
  const UniqueFd fd = Open();
  // More than what the kernel keeps of an answer.
  const std::string text(1 << 20, 'x');
  WriteAll(
      fd.get(),
      Post(kUsual, Request("1", "tools/call",
                           CallOf("echo", absl::StrCat(R"({"times":8,"text":")",
                                                       text, "\"}")))));
  char first = 0;
  ASSERT_EQ(recv(fd.get(), &first, 1, MSG_PEEK), 1);
  absl::SleepFor(absl::Milliseconds(1500));
  EXPECT_LT(ReadAll(fd).size(), 8U << 20);
}

TEST_F(McpHttpSlowTest, ACallMayTakeLonger) {
  const UniqueFd fd = Open();
  WriteAll(fd.get(), Post(kUsual, Request("1", "tools/call", CallOf("hang"))));
  ASSERT_TRUE(Soon([&] { return tools_.hanging == 1; }));
  absl::SleepFor(absl::Seconds(1));
  EXPECT_EQ(tools_.hanging, 1);
}

TEST_F(McpHttpTest, AModernRequestsHeadersMustSayWhatItsBodyDoes) {
  const std::string call =
      ModernRequest("1", "tools/call", CallOf("echo", R"({"text":"a"})"));
  const auto with = [&](const std::string& headers) {
    return Exchange(Post(absl::StrCat(kUsual, headers), call));
  };
  const std::string version = kModernHeader;
  const std::string method = "Mcp-Method: tools/call\r\n";
  const std::string name = "Mcp-Name: echo\r\n";
  for (const std::string& headers :
       {std::string(), method + name, version + name, version + method,
        absl::StrCat(version, "Mcp-Method: tools/list\r\n", name),
        absl::StrCat(version, method, "Mcp-Name: fail\r\n"),
        absl::StrCat(version, method, name, name),
        absl::StrCat("MCP-Protocol-Version: 2025-11-25\r\n", method, name)}) {
    EXPECT_THAT(with(headers),
                AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("-32020")))
        << headers;
  }
  EXPECT_THAT(with(version + method + name), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(with(version + method + "Mcp-Name: =?base64?ZWNobw==?=\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(McpHttpTest, ModernErrorsHaveAStatus) {
  EXPECT_THAT(Exchange(Post(absl::StrCat(kUsual, kModernHeader,
                                         "Mcp-Method: prompts/list\r\n"),
                            ModernRequest("1", "prompts/list"))),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("-32601")));
  EXPECT_THAT(ModernCall(CallOf("no_such"), "no_such"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("-32602")));
  EXPECT_THAT(Exchange(Post(absl::StrCat(kUsual, kModernHeader),
                            Request("1", "tools/list"))),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("-32602")));
  EXPECT_THAT(Exchange(Post(
                  absl::StrCat(kUsual, "MCP-Protocol-Version: 2099-01-01\r\n"),
                  Request("1", "tools/list"))),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("-32022")));
}

TEST_F(McpHttpTest, AStreamComesWhereProgressIsWanted) {
  const std::string stream = ModernCall(CallOf("talk", "{}", "3"), "talk");
  EXPECT_THAT(stream, HasSubstr("Content-Type: text/event-stream\r\n"));
  const size_t progress = stream.find("notifications/progress");
  const size_t reply = stream.find("\"talked\"");
  ASSERT_NE(progress, std::string::npos) << stream;
  ASSERT_NE(reply, std::string::npos) << stream;
  EXPECT_LT(progress, reply);
  EXPECT_THAT(ModernCall(CallOf("talk"), "talk"),
              HasSubstr("Content-Type: application/json\r\n"));
}

TEST_F(McpHttpTest, AClientThatGoesAwayCancelsItsCall) {
  const std::string call =
      Post(kUsual, Request("1", "tools/call", CallOf("hang")));
  const std::string stream =
      Post(kUsual, Request("1", "tools/call", CallOf("hang", "{}", "1")));
  for (const std::string& request : {call, stream}) {
    const int before = tools_.cancelled;
    UniqueFd fd = Open();
    WriteAll(fd.get(), request);
    ASSERT_TRUE(Soon([&] { return tools_.hanging == 1; }));
    // What it sends meanwhile doesn't hide that it goes.
    WriteAll(fd.get(), "\r\n");
    fd = UniqueFd();
    EXPECT_TRUE(Soon([&] { return tools_.cancelled == before + 1; }));
  }
}

TEST_F(McpHttpTest, AnEndOfTheServerCancelsWhatRuns) {
  const UniqueFd fd = Open();
  WriteAll(fd.get(), Post(kUsual, Request("1", "tools/call", CallOf("hang"))));
  ASSERT_TRUE(Soon([&] { return tools_.hanging == 1; }));
  stop_.Set();
  EXPECT_TRUE(Soon([&] { return tools_.cancelled == 1; }));
  EXPECT_EQ(ReadAll(fd), "");
}

TEST_F(McpHttpTest, ABodyMayWaitUntilItIsAskedFor) {
  const std::string body = Request("1", "ping");
  const UniqueFd fd = Open();
  WriteAll(fd.get(), absl::StrCat("POST /mcp HTTP/1.1\r\n", kUsual,
                                  "Expect: 100-continue\r\nContent-Length: ",
                                  body.size(), "\r\n\r\n"));
  const std::string wanted = "HTTP/1.1 100 Continue\r\n\r\n";
  std::string got(wanted.size(), '\0');
  ASSERT_EQ(recv(fd.get(), got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(wanted.size()));
  EXPECT_EQ(got, wanted);
  WriteAll(fd.get(), body);
  EXPECT_THAT(ReadAll(fd), StartsWith("HTTP/1.1 200"));
}

TEST_F(McpHttpTest, TooManyConnectionsAreToldToComeBack) {
  std::vector<UniqueFd> open;
  for (size_t i = 0; i < HttpBounds().connections; ++i) {
    open.push_back(Open());
  }
  EXPECT_THAT(Exchange(Post(kUsual, Request("1", "ping"))),
              StartsWith("HTTP/1.1 503"));
  open.clear();
  EXPECT_TRUE(Soon([&] {
    return absl::StartsWith(Exchange(Post(kUsual, Request("1", "ping"))),
                            "HTTP/1.1 200");
  }));
}

TEST(ListenAddressTest, OnlyValidAddressesAreAccepted) {
  EXPECT_TRUE(ParseListenAddress("127.0.0.1:0")->loopback);
  EXPECT_TRUE(ParseListenAddress("localhost:80")->loopback);
  EXPECT_TRUE(ParseListenAddress("[::1]:80")->loopback);
  EXPECT_FALSE(ParseListenAddress("0.0.0.0:80")->loopback);
  EXPECT_FALSE(ParseListenAddress("[::]:80")->loopback);
  for (const char* text : {"", "80", "127.0.0.1", "127.0.0.1:65536",
                           "example.org:80", "::1:80", "127.0.0.1:x"}) {
    EXPECT_FALSE(ParseListenAddress(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sandglass::client
