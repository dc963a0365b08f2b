// The Model Context Protocol over two pipes, without a daemon.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/base/unique_fd.h"
#include "client/mcp/json_rpc.h"
#include "client/mcp/stdio_server.h"
#include "client/mcp/stop_signal.h"
#include "client/mcp/tool_calls.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/mcp/mcp_fixture.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

// A server in a thread, and the client's ends of its pipes.
class McpStdioTest : public ::testing::Test {
 protected:
  McpStdioTest() {
    signal(SIGPIPE, SIG_IGN);
    int in[2] = {};
    int out[2] = {};
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    to_ = UniqueFd(in[1]);
    from_ = UniqueFd(out[0]);
    server_ = std::thread(
        [this, in_end = UniqueFd(in[0]), out_end = UniqueFd(out[1])]() mutable {
          ServeLines(protocol_, in_end.get(), out_end.get(), stop_);
          out_end = UniqueFd();
        });
  }
  ~McpStdioTest() override {
    stop_.Set();
    if (server_.joinable()) server_.join();
  }

  void Send(const std::string& line) {
    EXPECT_EQ(WriteAll(to_.get(), line + "\n"), 0);
  }
  void SendCancel(const std::string& id) {
    Send(absl::StrCat(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)",
                      R"("params":{"requestId":)", id, "}}"));
  }
  // The next message; null at the end, or after 20 s.
  Json Next() {
    size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
      pollfd poller = {from_.get(), POLLIN, 0};
      char chunk[65536];
      if (poll(&poller, 1, 20'000) <= 0) return nullptr;
      const ssize_t got = read(from_.get(), chunk, sizeof(chunk));
      if (got <= 0) return nullptr;
      received_.append(chunk, static_cast<size_t>(got));
    }
    Json message = Json::parse(received_.substr(0, end), nullptr, false);
    received_.erase(0, end + 1);
    EXPECT_FALSE(message.is_discarded());
    return message;
  }
  // Ends its input and waits for its end.
  void EndInput() {
    to_ = UniqueFd();
    server_.join();
  }

  McpTools tools_;
  const McpProtocol protocol_{tools_.Table()};
  const StopSignal stop_;
  UniqueFd to_;
  UniqueFd from_;
  std::string received_;
  std::thread server_;
};

TEST_F(McpStdioTest, EachLineIsAMessage) {
  Send(Request("1", "ping"));
  Send("");
  Send("not JSON");
  Send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  Send(Request("\"two\"", "tools/call", CallOf("echo", R"({"text":"a\nb"})")));
  EXPECT_EQ(Next()["id"], 1);
  EXPECT_EQ(Next()["error"]["code"], kParseError);
  EXPECT_EQ(Next()["result"]["content"][0]["text"], "a\nb");
}

TEST_F(McpStdioTest, WhatEndsFirstIsAnsweredFirst) {
  Send(Request("1", "tools/call", CallOf("hang")));
  ASSERT_TRUE(Soon([&] { return tools_.hanging == 1; }));
  Send(Request("2", "tools/call", CallOf("echo", R"({"text":"a"})")));
  EXPECT_EQ(Next()["id"], 2);
}

TEST_F(McpStdioTest, ABatchIsAnsweredByOneArray) {
  Send(absl::StrCat(
      "[", Request("1", "ping"), ",",
      R"({"jsonrpc":"2.0","method":"notifications/x"},)",
      Request("2", "tools/call", CallOf("echo", R"({"text":"a"})")), "]"));
  const Json replies = Next();
  ASSERT_TRUE(replies.is_array()) << replies;
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0]["id"], 1);
  EXPECT_EQ(replies[1]["id"], 2);
  EXPECT_EQ(replies[1]["result"]["content"][0]["text"], "a");
  // One to which nothing is to be said gets no answer.
  Send(R"([{"jsonrpc":"2.0","method":"notifications/x"}])");
  Send(Request("3", "ping"));
  EXPECT_EQ(Next()["id"], 3);
}

TEST_F(McpStdioTest, ACancelledCallEndsAndGetsNoReply) {
  Send(Request("1", "tools/call", CallOf("hang")));
  ASSERT_TRUE(Soon([&] { return tools_.hanging == 1; }));
  // Of another kind, or never there.
  SendCancel("\"1\"");
  SendCancel("99");
  Send(Request("2", "ping"));
  EXPECT_EQ(Next()["id"], 2);
  EXPECT_EQ(tools_.hanging, 1);
  SendCancel("1");
  ASSERT_TRUE(Soon([&] { return tools_.cancelled == 1; }));
  EndInput();
  EXPECT_TRUE(Next().is_null());
}

TEST_F(McpStdioTest, AnIdIsForOneCallAtATime) {
  Send(Request("1", "tools/call", CallOf("hang")));
  Send(Request("1", "tools/call", CallOf("hang")));
  const Json refused = Next();
  EXPECT_EQ(refused["id"], 1);
  EXPECT_THAT(refused["error"]["message"].get<std::string>(),
              HasSubstr("still under way"));
}

TEST_F(McpStdioTest, CallsBeyondTheLimitWait) {
  const int max = static_cast<int>(ToolCalls::kMaxRunning);
  for (int i = 0; i < max + 1; ++i) {
    Send(Request(absl::StrCat(i), "tools/call", CallOf("hang")));
  }
  ASSERT_TRUE(Soon([&] { return tools_.hanging == max; }));
  // One that waits is cancelled without having run.
  SendCancel(absl::StrCat(max));
  Send(Request("100", "tools/call", CallOf("echo", R"({"text":"a"})")));
  SendCancel("0");
  EXPECT_EQ(Next()["id"], 100);
  EXPECT_EQ(tools_.cancelled, 1);
  EXPECT_EQ(tools_.hanging, max - 1);
}

TEST_F(McpStdioTest, CallsBeyondTheQueueAreRefused) {
  const size_t max = ToolCalls::kMaxRunning + ToolCalls::kMaxWaiting;
  for (size_t i = 0; i < max + 10; ++i) {
    Send(Request(absl::StrCat(i), "tools/call", CallOf("hang")));
  }
  EXPECT_THAT(Next()["error"]["message"].get<std::string>(),
              HasSubstr("calls under way"));
}

TEST_F(McpStdioTest, TheEndOfTheInputCancelsWhatRuns) {
  Send(Request("1", "tools/call", CallOf("hang")));
  Send(Request("2", "tools/call", CallOf("hang")));
  ASSERT_TRUE(Soon([&] { return tools_.hanging == 2; }));
  EndInput();
  EXPECT_EQ(tools_.cancelled, 2);
  EXPECT_TRUE(Next().is_null());
}

TEST_F(McpStdioTest, TheLastLineNeedsNoNewline) {
  EXPECT_EQ(WriteAll(to_.get(), Request("1", "ping")), 0);
  EndInput();
  EXPECT_EQ(Next()["id"], 1);
}

TEST_F(McpStdioTest, ALineThatIsTooLongIsPassedOver) {
  std::thread sender([&] {
    Send(Request(
        "1", "ping",
        absl::StrCat("{\"a\":\"", std::string(kMaxRpcBytes, 'x'), "\"}")));
    Send(Request("2", "ping"));
  });
  const Json refused = Next();
  EXPECT_EQ(refused["error"]["code"], kParseError);
  EXPECT_TRUE(refused["id"].is_null());
  EXPECT_EQ(Next()["id"], 2);
  sender.join();
}

TEST_F(McpStdioTest, ABrokenOutputEndsTheServer) {
  Send(Request("1", "tools/call", CallOf("hang")));
  ASSERT_TRUE(Soon([&] { return tools_.hanging == 1; }));
  from_ = UniqueFd();
  Send(Request("2", "ping"));
  server_.join();
  EXPECT_EQ(tools_.cancelled, 1);
}

TEST_F(McpStdioTest, AClientThatReadsNothingCantKeepItFromEnding) {
  Send(Request("1", "tools/call",
               CallOf("echo", R"({"text":"0123456789","times":100000})")));
  Send(Request("2", "tools/call", CallOf("hang")));
  // The pipe is full of the first answer.
  ASSERT_TRUE(Soon([&] {
    int bytes = 0;
    return tools_.hanging == 1 && ioctl(from_.get(), FIONREAD, &bytes) == 0 &&
           bytes > 60'000;
  }));
  stop_.Set();
  server_.join();
  EXPECT_EQ(tools_.cancelled, 1);
}

TEST_F(McpStdioTest, ProgressComesBeforeTheReply) {
  Send(Request("1", "tools/call", CallOf("talk", "{}", "7")));
  const Json progress = Next();
  EXPECT_EQ(progress["method"], "notifications/progress");
  EXPECT_EQ(progress["params"]["progressToken"], 7);
  EXPECT_EQ(Next()["id"], 1);
}

}  // namespace
}  // namespace sandglass::client
