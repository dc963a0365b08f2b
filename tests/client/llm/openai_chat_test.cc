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

class OpenAiChatTest : public testing::Test {
 protected:
  // Of a stream that ends as it should.
  LlmTurn Read(std::string_view lines, const LlmRequest& request = {}) {
    ReadAnswer read =
        ReadEveryWay(*codec_, Events(lines) + "data: [DONE]\n\n", request);
    heard_ = read;
    EXPECT_TRUE(read.turn.ok()) << read.turn.status();
    return read.turn.ok() ? *read.turn : LlmTurn();
  }

  ReadAnswer heard_ = {absl::UnknownError("")};
  std::unique_ptr<LlmCodec> codec_ = MakeOpenAiChatCodec("http://host/v1");
};

TEST_F(OpenAiChatTest, TextThinkingAndUsageAreRead) {
  const LlmTurn turn = Read(
      R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}
{"choices":[{"delta":{"reasoning_content":"hm"}}]}
{"choices":[{"delta":{"content":"Pi is "}}]}
{"choices":[{"delta":{"content":"3.14 \u00e9\ud83d\ude00"},"finish_reason":null}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]}
{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3}}})");
  EXPECT_EQ(turn.message.text, "Pi is 3.14 é😀");
  EXPECT_EQ(turn.message.role, LlmMessage::Role::kModel);
  EXPECT_EQ(heard_.text, turn.message.text);
  EXPECT_EQ(heard_.thinking, "hm");
  EXPECT_EQ(turn.stop, LlmStop::kEnd);
  EXPECT_EQ(turn.stop_reason, "stop");
  EXPECT_EQ(turn.usage.input_tokens, 7u);
  EXPECT_EQ(turn.usage.output_tokens, 5u);
  EXPECT_EQ(turn.usage.cached_tokens, 3u);
}

TEST_F(OpenAiChatTest, ParallelCallsInPiecesBelongTogetherByIndex) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"run_code","arguments":""}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"co"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"execute","arguments":"{}"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"de\":1}"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"tool_calls"}]})");
  ASSERT_THAT(turn.message.calls, SizeIs(2));
  EXPECT_EQ(turn.message.calls[0].id, "a");
  EXPECT_EQ(turn.message.calls[0].name, "run_code");
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"code":1})");
  EXPECT_EQ(turn.message.calls[1].id, "b");
  EXPECT_EQ(turn.message.calls[1].arguments, "{}");
  EXPECT_EQ(turn.stop, LlmStop::kTools);
}

TEST_F(OpenAiChatTest, CallsWithOneIndexAreToldApartByIdAndName) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]})");
  ASSERT_THAT(turn.message.calls, SizeIs(2));
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(turn.message.calls[1].arguments, R"({"x":2})");
}

TEST_F(OpenAiChatTest, WholeCallsWithoutIndexAndIdAreCallsOfTheirOwn) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g","arguments":"{}"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{\"x\":\"}\"}"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]})");
  ASSERT_THAT(turn.message.calls, SizeIs(3));
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(turn.message.calls[1].name, "g");
  EXPECT_EQ(turn.message.calls[2].arguments, R"({"x":"}"})");
  EXPECT_NE(turn.message.calls[0].id, turn.message.calls[1].id);
  EXPECT_NE(turn.message.calls[1].id, turn.message.calls[2].id);
  EXPECT_EQ(turn.stop, LlmStop::kTools);
}

TEST_F(OpenAiChatTest, PiecesWithoutIndexGoOnWithTheCall) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"run_","arguments":""}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"function":{"name":"code"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"a\":"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1}"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]})");
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_EQ(turn.message.calls[0].name, "run_code");
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"a":1})");
}

TEST_F(OpenAiChatTest, ANameWithEveryPieceIsOneName) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]},"finish_reason":"tool_calls"}]})");
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_EQ(turn.message.calls[0].name, "f");
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"a":1})");
}

TEST_F(OpenAiChatTest, IdsThatTheConversationHasAreMadeNew) {
  const LlmRequest before = LongConversation();
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"id2","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"x","function":{"name":"f","arguments":"{}"}},{"index":2,"id":"x","function":{"name":"f","arguments":"{}"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"tool_calls"}]})",
      before);
  ASSERT_THAT(turn.message.calls, SizeIs(3));
  EXPECT_NE(turn.message.calls[0].id, "id2");
  EXPECT_EQ(turn.message.calls[1].id, "x");
  EXPECT_NE(turn.message.calls[2].id, "x");
}

TEST_F(OpenAiChatTest, ArgumentsThatTheBoundCutAreMarked) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"f","arguments":"{\"code\":\"pri"}},{"index":2,"id":"c","function":{"name":"f"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"length"}]})");
  ASSERT_THAT(turn.message.calls, SizeIs(3));
  EXPECT_FALSE(turn.message.calls[0].cut);
  EXPECT_TRUE(turn.message.calls[1].cut);
  EXPECT_TRUE(turn.message.calls[2].cut);
  EXPECT_EQ(turn.stop, LlmStop::kTools);
  EXPECT_EQ(turn.stop_reason, "length");
}

TEST_F(OpenAiChatTest, NoArgumentsAreAnEmptyObject) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]},"finish_reason":"tool_calls"}]})");
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_EQ(turn.message.calls[0].arguments, "{}");
  EXPECT_FALSE(turn.message.calls[0].cut);
}

TEST_F(OpenAiChatTest, TheEndsOfATurnAreToldApart) {
  const auto stop = [&](const std::string& reason) {
    return Read(absl::StrCat(
                    R"({"choices":[{"delta":{"content":"x"},"finish_reason":")",
                    reason, R"("}]})"))
        .stop;
  };
  EXPECT_EQ(stop("stop"), LlmStop::kEnd);
  EXPECT_EQ(stop("length"), LlmStop::kLength);
  EXPECT_EQ(stop("content_filter"), LlmStop::kRefusal);
  EXPECT_EQ(stop("something_new"), LlmStop::kEnd);
}

TEST_F(OpenAiChatTest, ARefusalIsHeardAndHasNoCalls) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}
{"choices":[{"delta":{"refusal":"I can't"}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]})");
  EXPECT_EQ(turn.stop, LlmStop::kRefusal);
  EXPECT_EQ(heard_.text, "I can't");
  EXPECT_THAT(turn.message.calls, IsEmpty());
}

TEST_F(OpenAiChatTest, ADocumentIsATurnAsWell) {
  const ReadAnswer read = ReadEveryWay(*codec_, R"(
    {"choices":[{"message":{"role":"assistant","content":"x","tool_calls":[
      {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},
      {"id":"a","type":"function","function":{"name":"g","arguments":"{}"}}]},
      "finish_reason":"tool_calls"}],
     "usage":{"prompt_tokens":2,"completion_tokens":1}})");
  ASSERT_TRUE(read.turn.ok()) << read.turn.status();
  EXPECT_EQ(read.text, "x");
  ASSERT_THAT(read.turn->message.calls, SizeIs(2));
  EXPECT_EQ(read.turn->message.calls[1].name, "g");
  EXPECT_EQ(read.turn->usage.input_tokens, 2u);
}

TEST_F(OpenAiChatTest, ErrorsInPlaceOfAnAnswerKeepTheirKind) {
  const auto code = [&](std::string_view body) {
    return ReadEveryWay(*codec_, body).turn.status().code();
  };
  EXPECT_EQ(code(Events(R"({"error":{"message":"m","code":429}})")),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(Events(R"({"object":"error","message":"m","code":400})")),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("event: error\ndata: {\"x\":1}\n\n"),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(R"([{"error":{"message":"m","type":"invalid_key"}}])"),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(R"({"error":"context window exceeded"})"),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(R"({"hello":"world"})"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("[1"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("data: [DONE]\n\n"), absl::StatusCode::kAborted);
  EXPECT_EQ(code(""), absl::StatusCode::kAborted);
}

TEST_F(OpenAiChatTest, ValuesOfOtherTypesAreNothing) {
  const LlmTurn turn = Read(
      R"([1,2]
"text"
{"choices":7}
{"choices":[7]}
{"choices":[{"delta":[]}]}
{"choices":[{"delta":{"content":7,"tool_calls":{"a":1},"reasoning":[]}}]}
{"choices":[{"delta":{"tool_calls":[null,7]}}],"usage":[]}
{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1,"completion_tokens":"x"}})");
  EXPECT_EQ(turn.message.text, "x");
  EXPECT_EQ(turn.usage.input_tokens, 0u);
}

TEST_F(OpenAiChatTest, ARequestHasEachThingInItsPlace) {
  const json body = codec_->Body(LongConversation());
  const json expected = ParseJson(R"({
    "model":"m","stream":true,"stream_options":{"include_usage":true},
    "max_tokens":100,
    "tools":[{"type":"function","function":{"name":"run_code",
      "description":"Runs code","parameters":{"type":"object"}}}],
    "messages":[
      {"role":"system","content":"Be brief."},
      {"role":"user","content":[{"type":"text","text":"Look"},
        {"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]},
      {"role":"assistant","content":"I will","tool_calls":[
        {"id":"id.1","type":"function",
         "function":{"name":"run_code","arguments":"{\"code\":\"1\"}"}},
        {"id":"id2","type":"function",
         "function":{"name":"no_such_tool","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"id.1","content":"one"},
      {"role":"tool","tool_call_id":"id2","content":"there is no such tool"},
      {"role":"user","content":[
        {"type":"text","text":"Images of the result of id.1"},
        {"type":"image_url",
         "image_url":{"url":"data:image/jpeg;base64,SlBH"}}]},
      {"role":"user","content":"Go on"}]})");
  EXPECT_EQ(body, expected) << DumpJson(body);
}

TEST_F(OpenAiChatTest, ReasoningGoesBackWhileToolsRun) {
  const LlmTurn turn = Read(
      R"({"choices":[{"delta":{"reasoning_content":"be"}}]}
{"choices":[{"delta":{"reasoning_content":"cause"}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})");
  LlmRequest request;
  request.messages = {turn.message};
  EXPECT_EQ(codec_->Body(request)["messages"][0]["reasoning_content"],
            "because");
}

TEST_F(OpenAiChatTest, OpenAiItselfGetsTheNewNameOfTheBound) {
  const json body =
      MakeOpenAiChatCodec("https://api.openai.com/v1")->Body({.model = "m"});
  EXPECT_TRUE(body.contains("max_completion_tokens"));
  EXPECT_FALSE(body.contains("max_tokens"));
}

TEST_F(OpenAiChatTest, AServerWithoutStreamOptionsGetsNone) {
  EXPECT_FALSE(codec_->Adapt("the model is too hot"));
  EXPECT_TRUE(codec_->Adapt("extra field: stream_options"));
  EXPECT_FALSE(codec_->Body({}).contains("stream_options"));
  EXPECT_FALSE(codec_->Adapt("extra field: stream_options"));
}

}  // namespace
}  // namespace sandglass::client
