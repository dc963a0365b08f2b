// What the MCP endpoint answers to requests as values, without a connection.
#include "client/mcp/http/mcp_endpoint.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/mcp/mcp_fixture.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class McpEndpointTest : public ::testing::Test {
 protected:
  static HttpRequest Post(const std::string& body) {
    return {.method = "POST",
            .path = "/mcp",
            .headers = {{"host", "localhost:80"},
                        {"content-type", "application/json"},
                        {"accept", "application/json, text/event-stream"}},
            .body = body};
  }

  McpTools tools_;
  const McpProtocol protocol_{tools_.Table()};
  const McpEndpoint endpoint_{protocol_, EndpointOptions()};
};

TEST_F(McpEndpointTest, AReplyWithoutWorkIsThereAtOnce) {
  const HttpRequest request = Post(Request("1", "ping"));
  EXPECT_FALSE(endpoint_.Refusal(request));
  const HttpReply answer = endpoint_.Answer(request);
  EXPECT_EQ(answer.work, nullptr);
  EXPECT_EQ(answer.response.status, 200);
  EXPECT_EQ(answer.response.headers.at("Content-Type"), "application/json");
  EXPECT_THAT(answer.response.body, HasSubstr("\"id\":1"));
}

TEST_F(McpEndpointTest, ACallIsWorkWhoseResultIsTheBody) {
  const HttpReply answer = endpoint_.Answer(
      Post(Request("1", "tools/call", CallOf("echo", R"({"text":"a"})"))));
  ASSERT_NE(answer.work, nullptr);
  EXPECT_EQ(answer.filler, "");
  std::vector<std::string> pieces;
  const std::string body = answer.work->Do(
      [&](std::string piece) { pieces.push_back(std::move(piece)); });
  EXPECT_THAT(pieces, IsEmpty());
  EXPECT_EQ(Json::parse(body)["result"]["content"][0]["text"], "a");
}

TEST_F(McpEndpointTest, ABatchIsAnsweredByOneArray) {
  const std::string call =
      Request("2", "tools/call", CallOf("echo", R"({"text":"a"})"));
  HttpRequest request = Post("[" + Request("1", "ping") + "," + call + "," +
                             Request("3", "x") + "]");
  request.headers.emplace("mcp-protocol-version", "2025-03-26");
  const HttpReply answer = endpoint_.Answer(request);
  ASSERT_NE(answer.work, nullptr);
  const Json replies =
      Json::parse(answer.work->Do([](const std::string&) {}), nullptr, false);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies[0]["id"], 1);
  EXPECT_EQ(replies[1]["error"]["code"], kMethodNotFound);
  EXPECT_EQ(replies[2]["result"]["content"][0]["text"], "a");
  const HttpReply at_once =
      endpoint_.Answer(Post("[" + Request("1", "ping") + "]"));
  EXPECT_EQ(at_once.work, nullptr);
  EXPECT_THAT(at_once.response.body, StartsWith("[{"));
  EXPECT_EQ(
      endpoint_
          .Answer(Post(R"([{"jsonrpc":"2.0","method":"notifications/x"}])"))
          .response.status,
      202);
}

TEST_F(McpEndpointTest, ProgressAndReplyAreEventsOfAStream) {
  const HttpReply answer = endpoint_.Answer(
      Post(Request("1", "tools/call", CallOf("talk", "{}", "3"))));
  ASSERT_NE(answer.work, nullptr);
  EXPECT_EQ(answer.response.headers.at("Content-Type"), "text/event-stream");
  // A comment, which clients pass over.
  EXPECT_THAT(answer.filler, AllOf(StartsWith(":"), EndsWith("\n\n")));
  std::vector<std::string> pieces;
  const std::string last = answer.work->Do(
      [&](std::string piece) { pieces.push_back(std::move(piece)); });
  EXPECT_THAT(pieces, ElementsAre(AllOf(StartsWith("event: message\ndata: {"),
                                        HasSubstr("notifications/progress"),
                                        EndsWith("}\n\n"))));
  EXPECT_THAT(last, AllOf(StartsWith("event: message\ndata: {"),
                          HasSubstr("\"talked\""), EndsWith("}\n\n")));
}

TEST_F(McpEndpointTest, WorkThatWasCancelledEnds) {
  const HttpReply answer =
      endpoint_.Answer(Post(Request("1", "tools/call", CallOf("hang"))));
  ASSERT_NE(answer.work, nullptr);
  answer.work->Cancel();
  answer.work->Do(nullptr);
  EXPECT_EQ(tools_.cancelled, 1);
}

TEST_F(McpEndpointTest, ARefusalNeedsNoBody) {
  const auto status = [&](const HttpRequest& request) {
    const std::optional<HttpResponse> refusal = endpoint_.Refusal(request);
    return refusal ? refusal->status : 0;
  };
  HttpRequest request = Post("");
  EXPECT_EQ(status(request), 0);
  request.headers.emplace("host", "localhost");
  EXPECT_EQ(status(request), 400);
  request = Post("");
  request.headers.emplace("origin", "https://evil.example");
  EXPECT_EQ(status(request), 403);
  request = Post("");
  request.path = "/";
  EXPECT_EQ(status(request), 404);
  request.path = "/mcp";
  request.method = "GET";
  EXPECT_EQ(status(request), 405);
}

TEST_F(McpEndpointTest, WhatCannotBeReadIsExplained) {
  EXPECT_THAT(endpoint_.Failure(413).body, HasSubstr("at most 8388608 bytes"));
  EXPECT_THAT(endpoint_.Failure(431).body, HasSubstr("not understood"));
  EXPECT_EQ(endpoint_.Failure(503).headers.at("Retry-After"), "1");
}

}  // namespace
}  // namespace sandglass::client
