#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/llm/codec.h"
#include "client/llm/json_value.h"
#include "tests/client/llm/llm_script.h"

namespace sandglass::client {
namespace {

using nlohmann::json;
using testing::IsEmpty;
using testing::SizeIs;

class AnthropicTest : public testing::Test {
 protected:
  LlmTurn Read(std::string_view lines, const LlmRequest& request = {}) {
    heard_ = ReadEveryWay(*codec_, Events(lines), request);
    EXPECT_TRUE(heard_.turn.ok()) << heard_.turn.status();
    return heard_.turn.ok() ? *heard_.turn : LlmTurn();
  }
  // How the turn goes back.
  json Content(const LlmTurn& turn) {
    LlmRequest request;
    request.messages = {turn.message};
    return JsonAt(JsonFirst(codec_->Body(request)["messages"]), "content");
  }

  ReadAnswer heard_ = {absl::UnknownError("")};
  std::unique_ptr<LlmCodec> codec_ = MakeAnthropicCodec();
};

constexpr char kThinkingTurn[] =
    R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me\n see\u200b "}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\"it\""}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/=="}}
{"type":"content_block_stop","index":0}
{"type":"ping"}
{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"c2VjcmV0"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I'll run it."}}
{"type":"content_block_stop","index":2}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"run_code","input":{}}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"code\": "}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"1\"}"}}
{"type":"content_block_stop","index":3}
{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"list_files","input":{}}}
{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_stop","index":4}
{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}
{"type":"message_stop"})";

TEST_F(AnthropicTest, TextThinkingCallsAndUsageAreRead) {
  const LlmTurn turn = Read(kThinkingTurn);
  EXPECT_EQ(heard_.text, "I'll run it.");
  EXPECT_EQ(heard_.thinking, "Let me\n see\u200b \"it\"");
  EXPECT_EQ(turn.message.text, "I'll run it.");
  ASSERT_THAT(turn.message.calls, SizeIs(2));
  EXPECT_EQ(turn.message.calls[0].id, "toolu_1");
  EXPECT_EQ(turn.message.calls[0].name, "run_code");
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"code": "1"})");
  EXPECT_EQ(turn.message.calls[1].arguments, "{}");
  EXPECT_FALSE(turn.message.calls[1].cut);
  EXPECT_EQ(turn.stop, LlmStop::kTools);
  EXPECT_EQ(turn.stop_reason, "tool_use");
  EXPECT_EQ(turn.usage.input_tokens, 1110u);
  EXPECT_EQ(turn.usage.cached_tokens, 100u);
  EXPECT_EQ(turn.usage.output_tokens, 42u);
}

TEST_F(AnthropicTest, ThinkingGoesBackUntouched) {
  const json content = Content(Read(kThinkingTurn));
  const json expected = ParseJson(R"([
    {"type":"thinking","thinking":"Let me\n see\u200b \"it\"",
     "signature":"EqQB+/=="},
    {"type":"redacted_thinking","data":"c2VjcmV0"},
    {"type":"text","text":"I'll run it."},
    {"type":"tool_use","id":"toolu_1","name":"run_code",
     "input":{"code":"1"}},
    {"type":"tool_use","id":"toolu_2","name":"list_files","input":{}}])");
  EXPECT_EQ(content, expected) << DumpJson(content);
}

TEST_F(AnthropicTest, AThreadFromAnotherProviderHasNoRawForm) {
  LlmTurn turn = Read(kThinkingTurn);
  turn.message.raw["codec"] = "openai-responses";
  EXPECT_EQ(Content(turn)[0]["type"], "text");
}

TEST_F(AnthropicTest, TheEndsOfATurnAreToldApart) {
  const auto stop = [&](const std::string& reason) {
    return Read(
               absl::StrCat(
                   R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}})",
                   "\n", R"({"type":"message_delta","delta":{"stop_reason":")",
                   reason, "\"}}\n{\"type\":\"message_stop\"}"))
        .stop;
  };
  EXPECT_EQ(stop("end_turn"), LlmStop::kEnd);
  EXPECT_EQ(stop("stop_sequence"), LlmStop::kEnd);
  EXPECT_EQ(stop("max_tokens"), LlmStop::kLength);
  EXPECT_EQ(stop("model_context_window_exceeded"), LlmStop::kLength);
  EXPECT_EQ(stop("pause_turn"), LlmStop::kPause);
  EXPECT_EQ(stop("refusal"), LlmStop::kRefusal);
}

TEST_F(AnthropicTest, ArgumentsThatTheBoundCutAreMarkedAndGoBackEmpty) {
  const LlmTurn turn = Read(
      R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"code\":\"pri"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}
{"type":"message_stop"})");
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_TRUE(turn.message.calls[0].cut);
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"code":"pri)");
  EXPECT_EQ(Content(turn)[0]["input"], json::object());
}

TEST_F(AnthropicTest, ARefusalLeavesNoCallsBehind) {
  const LlmTurn turn = Read(
      R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
{"type":"message_delta","delta":{"stop_reason":"refusal"}}
{"type":"message_stop"})");
  EXPECT_EQ(turn.stop, LlmStop::kRefusal);
  EXPECT_THAT(turn.message.calls, IsEmpty());
  EXPECT_TRUE(turn.message.raw.is_null());
}

TEST_F(AnthropicTest, AnIdThatIsUsedAgainIsNewInTheRawFormToo) {
  const LlmTurn turn = Read(
      R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"id2","name":"f","input":{}}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"tool_use"}}
{"type":"message_stop"})",
      LongConversation());
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_NE(turn.message.calls[0].id, "id2");
  EXPECT_EQ(Content(turn)[0]["id"], turn.message.calls[0].id);
}

TEST_F(AnthropicTest, ErrorsKeepTheirKind) {
  const auto code = [&](const std::string& type) {
    return ReadEveryWay(*codec_,
                        absl::StrCat("event: error\ndata: {\"type\":\"error\","
                                     "\"error\":{\"type\":\"",
                                     type, "\",\"message\":\"m\"}}\n\n"))
        .turn.status()
        .code();
  };
  EXPECT_EQ(code("overloaded_error"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("rate_limit_error"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("invalid_request_error"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("authentication_error"), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(code("not_found_error"), absl::StatusCode::kNotFound);
}

TEST_F(AnthropicTest, AStreamWithoutItsEndIsNotATurn) {
  const ReadAnswer read =
      ReadEveryWay(*codec_, Events(
                                R"({"type":"message_start","message":{}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}})"));
  EXPECT_TRUE(absl::IsAborted(read.turn.status()));
  EXPECT_TRUE(read.begun);
}

TEST_F(AnthropicTest, ADocumentIsATurnAsWell) {
  const ReadAnswer read = ReadEveryWay(*codec_, R"({"type":"message",
    "content":[{"type":"text","text":"x"},
      {"type":"tool_use","id":"a","name":"f","input":{"b":1}}],
    "stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}})");
  ASSERT_TRUE(read.turn.ok()) << read.turn.status();
  EXPECT_EQ(read.text, "x");
  ASSERT_THAT(read.turn->message.calls, SizeIs(1));
  EXPECT_EQ(read.turn->message.calls[0].arguments, R"({"b":1})");
  EXPECT_FALSE(read.turn->message.calls[0].cut);
  EXPECT_EQ(read.turn->usage.output_tokens, 4u);
}

TEST_F(AnthropicTest, ValuesOfOtherTypesAreNothing) {
  const LlmTurn turn = Read(
      R"([1]
7
{"type":"message_start","message":7}
{"type":"content_block_start","index":"a","content_block":[]}
{"type":"content_block_delta","index":0,"delta":7}
{"type":"content_block_start","index":-1,"content_block":{"type":7,"text":[]}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}
{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta"}}
{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":7,"name":[],"input":"x"}}
{"type":"content_block_stop","index":1}
{"type":"message_delta","delta":{"stop_reason":7},"usage":{"output_tokens":-5}}
{"type":"something_new"}
{"type":"message_stop"})");
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_EQ(turn.message.calls[0].arguments, "{}");
  EXPECT_EQ(turn.usage.output_tokens, 0u);
}

TEST_F(AnthropicTest, ARequestHasEachThingInItsPlace) {
  LlmRequest request = LongConversation();
  request.tools.push_back(
      {.native = ParseJson(R"({"type":"bash_20250124","name":"bash"})")});
  const json body = codec_->Body(request);
  const json expected = ParseJson(R"({
    "model":"m","stream":true,"max_tokens":100,
    "system":[{"type":"text","text":"Be brief.",
      "cache_control":{"type":"ephemeral"}}],
    "tools":[
      {"name":"run_code","description":"Runs code",
       "input_schema":{"type":"object"}},
      {"type":"bash_20250124","name":"bash",
       "cache_control":{"type":"ephemeral"}}],
    "messages":[
      {"role":"user","content":[
        {"type":"image","source":{"type":"base64","media_type":"image/png",
         "data":"UE5H"}},
        {"type":"text","text":"Look"}]},
      {"role":"assistant","content":[
        {"type":"text","text":"I will"},
        {"type":"tool_use","id":"id_1","name":"run_code",
         "input":{"code":"1"}},
        {"type":"tool_use","id":"id2","name":"no_such_tool","input":{}}]},
      {"role":"user","content":[
        {"type":"tool_result","tool_use_id":"id_1","content":[
          {"type":"text","text":"one"},
          {"type":"image","source":{"type":"base64",
           "media_type":"image/jpeg","data":"SlBH"}}]},
        {"type":"tool_result","tool_use_id":"id2","is_error":true,"content":[
          {"type":"text","text":"there is no such tool"}]},
        {"type":"text","text":"Go on",
         "cache_control":{"type":"ephemeral"}}]}]})");
  EXPECT_EQ(body, expected) << DumpJson(body);
}

TEST_F(AnthropicTest, EmptyTextsAreLeftOut) {
  LlmRequest request;
  request.messages.resize(2);
  request.messages[0].text = " \n";
  request.messages[1].results = {{"a", "", false, {}}};
  const json messages = codec_->Body(request)["messages"];
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0]["content"][0]["content"], json::array());
}

TEST_F(AnthropicTest, AnAddressWithAVersionKeepsIt) {
  EXPECT_EQ(codec_->Url("https://h"), "https://h/v1/messages");
  EXPECT_EQ(codec_->Url("https://h/v1"), "https://h/v1/messages");
}

}  // namespace
}  // namespace sandglass::client
