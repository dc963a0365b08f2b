// The Model Context Protocol's messages, without a transport.
#include "client/mcp/mcp_protocol.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/mcp/json_rpc.h"
#include "client/mcp/tool_run.h"
#include "client/mcp/tool_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/mcp/mcp_fixture.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class McpProtocolTest : public ::testing::Test {
 protected:
  // What a message is answered; runs the tool when it is a call.
  Json Answer(const std::string& text) {
    const Handled handled = protocol_.Handle(ParseRpcMessage(text));
    if (!handled.run) return handled.reply;
    CallCancel cancel;
    return CarryOut(protocol_, *handled.run, cancel,
                    [&](const Json& message) { sent_.push_back(message); });
  }
  int ErrorOf(const std::string& text) {
    const Json answer = Answer(text);
    return answer.is_object() && answer.contains("error")
               ? answer["error"]["code"].get<int>()
               : 0;
  }
  std::string TextOf(const Json& answer) {
    return answer["result"]["content"][0]["text"].get<std::string>();
  }

  McpTools tools_;
  const McpProtocol protocol_{tools_.Table()};
  std::vector<Json> sent_;
};

TEST_F(McpProtocolTest, WhatIsNoMessageGetsTheErrorThatSaysSo) {
  EXPECT_EQ(ErrorOf("{\"jsonrpc\":"), kParseError);
  EXPECT_EQ(ErrorOf("\xff"), kParseError);
  EXPECT_EQ(ErrorOf("\"ping\""), kInvalidRequest);
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"1.0","id":1,"method":"ping"})"),
            kInvalidRequest);
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"2.0","id":1,"method":5})"), kInvalidRequest);
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"),
            kInvalidRequest);
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})"),
            kInvalidParams);
}

TEST_F(McpProtocolTest, ABatchIsItsMessages) {
  const RpcMessage batch = ParseRpcMessage(absl::StrCat(
      "[", Request("1", "ping"), ",5,",
      R"({"jsonrpc":"2.0","method":"notifications/initialized"},)",
      Request("2", "initialize", R"({"protocolVersion":"2025-03-26"})"),
      ",[]]"));
  ASSERT_EQ(batch.kind, RpcMessage::Kind::kBatch);
  ASSERT_EQ(batch.batch.size(), 5u);
  EXPECT_EQ(protocol_.HandlePart(batch.batch[0]).reply["id"], 1);
  for (const size_t bad : {1u, 4u}) {
    EXPECT_EQ(protocol_.HandlePart(batch.batch[bad]).reply["error"]["code"],
              kInvalidRequest);
  }
  EXPECT_TRUE(protocol_.HandlePart(batch.batch[2]).reply.is_null());
  // A handshake has to be over before there can be batches.
  const Json refused = protocol_.HandlePart(batch.batch[3]).reply;
  EXPECT_EQ(refused["id"], 2);
  EXPECT_THAT(refused["error"]["message"].get<std::string>(),
              HasSubstr("may not be in a batch"));
}

TEST_F(McpProtocolTest, ABatchHasSomeMessagesAndNotTooMany) {
  EXPECT_EQ(ErrorOf("[]"), kInvalidRequest);
  std::string many = "[1";
  for (size_t i = 0; i < kMaxBatch; ++i) many += ",1";
  EXPECT_EQ(ErrorOf(many + "]"), kInvalidRequest);
}

TEST_F(McpProtocolTest, WhatIsTooDeepIsNotRead) {
  const auto nested = [](int depth) {
    return Request("1", "ping",
                   absl::StrCat("{\"a\":", std::string(depth, '['),
                                std::string(depth, ']'), "}"));
  };
  EXPECT_TRUE(Answer(nested(kMaxRpcDepth - 2)).contains("result"));
  EXPECT_EQ(ErrorOf(nested(kMaxRpcDepth - 1)), kParseError);
  // Brackets in strings are none.
  EXPECT_TRUE(Answer(Request("1", "ping",
                             absl::StrCat("{\"a\":\"\\\"",
                                          std::string(100, '['), "\"}")))
                  .contains("result"));
}

TEST_F(McpProtocolTest, NothingWithoutAnIdIsAnswered) {
  for (const char* text :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"notifications/no_such"})",
        R"({"jsonrpc":"2.0","method":"tools/list"})",
        R"({"jsonrpc":"2.0","method":5})", R"({"jsonrpc":"2.0"})",
        R"({"jsonrpc":"2.0","id":7,"result":{}})"}) {
    EXPECT_TRUE(Answer(text).is_null()) << text;
  }
}

TEST_F(McpProtocolTest, TheHandshakeGivesTheRevisionThatWasAskedFor) {
  for (const char* version :
       {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    const Json answer = Answer(
        Request("\"a\"", "initialize",
                absl::StrCat(R"({"protocolVersion":")", version, R"("})")));
    EXPECT_EQ(answer["id"], "a");
    EXPECT_EQ(answer["result"]["protocolVersion"], version);
    EXPECT_EQ(answer["result"]["serverInfo"]["name"], "sandglass");
    EXPECT_TRUE(answer["result"]["capabilities"].contains("tools"));
    EXPECT_FALSE(answer["result"].contains("resultType"));
  }
}

TEST_F(McpProtocolTest, TheHandshakeNeverGivesTheRevisionThatHasNone) {
  for (const char* version : {"2026-07-28", "2099-01-01", "x"}) {
    EXPECT_EQ(
        Answer(Request("1", "initialize",
                       absl::StrCat(R"({"protocolVersion":")", version,
                                    R"("})")))["result"]["protocolVersion"],
        "2025-11-25");
  }
  EXPECT_EQ(ErrorOf(Request("1", "initialize")), kInvalidParams);
  EXPECT_EQ(ErrorOf(ModernRequest("1", "initialize",
                                  R"({"protocolVersion":"2025-11-25"})")),
            kMethodNotFound);
}

TEST_F(McpProtocolTest, DiscoveryTellsTheRevisions) {
  const Json result = Answer(ModernRequest("1", "server/discover"))["result"];
  EXPECT_THAT(result["supportedVersions"],
              ElementsAre("2026-07-28", "2025-11-25", "2025-06-18",
                          "2025-03-26", "2024-11-05"));
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
            "sandglass");
  EXPECT_GT(result["ttlMs"], 0);
  EXPECT_EQ(ErrorOf(Request("1", "server/discover")), kInvalidParams);
}

TEST_F(McpProtocolTest, AnUnknownRevisionIsToldWhichThereAre) {
  const Json error =
      Answer(Request("1", "tools/list",
                     absl::StrCat(R"({"_meta":{")", kVersionMeta,
                                  R"(":"2099-01-01"}})")))["error"];
  EXPECT_EQ(error["code"], kUnsupportedVersion);
  EXPECT_EQ(error["data"]["requested"], "2099-01-01");
  EXPECT_EQ(error["data"]["supported"][0], "2026-07-28");
}

TEST_F(McpProtocolTest, AModernRequestMustSayWhatItsClientCan) {
  EXPECT_EQ(ErrorOf(Request("1", "tools/list",
                            absl::StrCat(R"({"_meta":{")", kVersionMeta,
                                         R"(":"2026-07-28"}})"))),
            kInvalidParams);
  EXPECT_EQ(ErrorOf(Request(
                "1", "tools/list",
                absl::StrCat(R"({"_meta":{")", kVersionMeta, R"(":1}})"))),
            kInvalidParams);
}

TEST_F(McpProtocolTest, OnlyModernClientsHearHowLongAListHolds) {
  const Json legacy = Answer(Request("1", "tools/list"))["result"];
  EXPECT_EQ(legacy["tools"].size(), 5U);
  EXPECT_EQ(legacy.size(), 1U) << legacy;
  const Json modern = Answer(ModernRequest("1", "tools/list"))["result"];
  EXPECT_EQ(modern["tools"], legacy["tools"]);
  EXPECT_GT(modern["ttlMs"], 0);
  EXPECT_EQ(modern["cacheScope"], "private");
  EXPECT_EQ(modern["resultType"], "complete");
}

TEST_F(McpProtocolTest, AListIsInOnePiece) {
  EXPECT_EQ(ErrorOf(Request("1", "tools/list", R"({"cursor":"2"})")),
            kInvalidParams);
}

TEST_F(McpProtocolTest, ToolsSayWhatTheyDoToTheWorld) {
  const auto hints = [&](const std::string& name) {
    const Json list = Answer(Request("1", "tools/list"));
    for (const Json& tool : list["result"]["tools"]) {
      if (tool["name"] == name) return tool["annotations"];
    }
    return Json();
  };
  EXPECT_EQ(hints("echo"),
            Json({{"readOnlyHint", true}, {"openWorldHint", false}}));
  EXPECT_EQ(hints("hang"), Json({{"readOnlyHint", false},
                                 {"destructiveHint", true},
                                 {"openWorldHint", false}}));
  tools_.has_network = true;
  EXPECT_EQ(hints("hang")["openWorldHint"], true);
  EXPECT_EQ(hints("echo")["openWorldHint"], false);
}

TEST_F(McpProtocolTest, UnknownMethodsAreRefused) {
  for (const char* method : {"resources/list", "prompts/list", "tasks/get",
                             "logging/setLevel", "subscriptions/listen"}) {
    EXPECT_EQ(ErrorOf(Request("1", method)), kMethodNotFound) << method;
    EXPECT_EQ(ErrorOf(ModernRequest("1", method)), kMethodNotFound) << method;
  }
  EXPECT_TRUE(Answer(Request("1", "ping")).contains("result"));
  EXPECT_EQ(ErrorOf(ModernRequest("1", "ping")), kMethodNotFound);
}

TEST_F(McpProtocolTest, ACallGivesTextAndImagesAndNothingStructured) {
  const Json result =
      Answer(Request("1", "tools/call", CallOf("picture")))["result"];
  EXPECT_EQ(result["content"][0],
            Json({{"type", "text"}, {"text", "one image"}}));
  EXPECT_EQ(result["content"][1], Json({{"type", "image"},
                                        {"data", "iVBORwA="},
                                        {"mimeType", "image/png"}}));
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result.size(), 2U) << result;
  const Json modern =
      Answer(ModernRequest("1", "tools/call", CallOf("fail")))["result"];
  EXPECT_EQ(modern["isError"], true);
  EXPECT_EQ(modern["resultType"], "complete");
  EXPECT_FALSE(modern.contains("structuredContent"));
}

TEST_F(McpProtocolTest, AMalformedCallIsAProtocolError) {
  EXPECT_EQ(ErrorOf(Request("1", "tools/call")), kInvalidParams);
  EXPECT_EQ(ErrorOf(Request("1", "tools/call", CallOf("echo", "[]"))),
            kInvalidParams);
  const Json error =
      Answer(Request("1", "tools/call", CallOf("no_such")))["error"];
  EXPECT_EQ(error["code"], kInvalidParams);
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("no_such"));
}

TEST_F(McpProtocolTest, WrongArgumentsAreAnErrorInTheResult) {
  const auto refused = [&](const std::string& arguments) {
    const Json answer =
        Answer(Request("1", "tools/call", CallOf("echo", arguments)));
    EXPECT_EQ(answer["result"]["isError"], true) << answer;
    return TextOf(answer);
  };
  EXPECT_EQ(refused("{}"), "echo: the argument text is missing");
  EXPECT_EQ(refused(R"({"text":null})"), "echo: the argument text is missing");
  EXPECT_EQ(refused(R"({"text":5})"),
            "echo: text must be a string, not a number");
  EXPECT_EQ(refused(R"({"text":"a","times":"2"})"),
            "echo: times must be an integer, not string");
  EXPECT_EQ(refused(R"({"text":"a","times":1.5})"),
            "echo: times must be an integer, not a number");
  EXPECT_EQ(refused(R"({"text":"a","times":1e300})"),
            "echo: times must be an integer, not a number");
  EXPECT_EQ(refused(R"({"text":"a","times":0})"),
            "echo: times must be 1 or more");
  EXPECT_EQ(refused(R"({"text":"a","time":2})"),
            "echo: there is no argument 'time'; this tool takes text, times");
}

TEST_F(McpProtocolTest, ANullIsAnArgumentThatIsLeftOut) {
  EXPECT_EQ(
      TextOf(Answer(Request("1", "tools/call",
                            CallOf("echo", R"({"text":"a","times":null})")))),
      "a");
  EXPECT_EQ(
      TextOf(Answer(Request("1", "tools/call",
                            CallOf("echo", R"({"text":"a","times":2.0})")))),
      "aa");
}

TEST_F(McpProtocolTest, ProgressIsToldToWhoAsks) {
  Answer(Request("1", "tools/call", CallOf("talk")));
  EXPECT_TRUE(sent_.empty());
  Answer(Request("1", "tools/call", CallOf("talk", "{}", "\"t\"")));
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_[0]["method"], "notifications/progress");
  EXPECT_FALSE(sent_[0].contains("id"));
  EXPECT_EQ(sent_[0]["params"]["progressToken"], "t");
  EXPECT_EQ(sent_[0]["params"]["message"], "last\\x1b[2J line");
  EXPECT_GT(sent_[0]["params"]["progress"], 0);
}

TEST_F(McpProtocolTest, ACancellationNamesARequest) {
  const auto cancels = [&](const std::string& params) {
    return protocol_
        .Handle(ParseRpcMessage(absl::StrCat(
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)",
            params, "}")))
        .cancel;
  };
  EXPECT_EQ(cancels(R"({"requestId":5})"), 5);
  EXPECT_EQ(cancels(R"({"requestId":"5"})"), "5");
  EXPECT_TRUE(cancels("{}").is_null());
}

}  // namespace
}  // namespace sandglass::client
