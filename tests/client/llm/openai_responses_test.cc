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

class OpenAiResponsesTest : public testing::Test {
 protected:
  LlmTurn Read(std::string_view lines, const LlmRequest& request = {}) {
    heard_ = ReadEveryWay(*codec_, Events(lines), request);
    EXPECT_TRUE(heard_.turn.ok()) << heard_.turn.status();
    return heard_.turn.ok() ? *heard_.turn : LlmTurn();
  }
  json Input(const LlmTurn& turn, const LlmMessage& next = {}) {
    LlmRequest request;
    request.messages = {turn.message, next};
    return codec_->Body(request)["input"];
  }

  ReadAnswer heard_ = {absl::UnknownError("")};
  std::unique_ptr<LlmCodec> codec_ = MakeOpenAiResponsesCodec();
};

constexpr char kTurn[] =
    R"({"type":"response.created","response":{"id":"resp_1","status":"in_progress","error":null}}
{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}
{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Thinking"}
{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Thinking"}],"encrypted_content":"gAAAA=="}}
{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}
{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"I'll "}
{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"run it."}
{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"I'll run it."}
{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"I'll run it.","annotations":[]}]}}
{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"run_code","arguments":""}}
{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"code\":"}
{"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"1\"}"}
{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"code\":\"1\"}"}
{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"run_code","arguments":"{\"code\":\"1\"}","status":"completed"}}
{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"type":"reasoning"},{"type":"message"},{"type":"function_call"}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":8}}})";

TEST_F(OpenAiResponsesTest, TextThinkingCallsAndUsageAreRead) {
  const LlmTurn turn = Read(kTurn);
  EXPECT_EQ(heard_.text, "I'll run it.");
  EXPECT_EQ(heard_.thinking, "Thinking");
  EXPECT_EQ(turn.message.text, "I'll run it.");
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_EQ(turn.message.calls[0].id, "call_1");
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"code":"1"})");
  EXPECT_FALSE(turn.message.calls[0].cut);
  EXPECT_EQ(turn.stop, LlmStop::kTools);
  EXPECT_EQ(turn.usage.input_tokens, 9u);
  EXPECT_EQ(turn.usage.cached_tokens, 4u);
  EXPECT_EQ(turn.usage.output_tokens, 8u);
}

TEST_F(OpenAiResponsesTest, ItemsGoBackUntouched) {
  LlmMessage results;
  results.results = {{"call_1", "1", false, {{"image/png", "PNG"}}}};
  const json input = Input(Read(kTurn), results);
  const json expected = ParseJson(R"([
    {"type":"reasoning","id":"rs_1",
     "summary":[{"type":"summary_text","text":"Thinking"}],
     "encrypted_content":"gAAAA=="},
    {"type":"message","id":"msg_1","role":"assistant","content":[
      {"type":"output_text","text":"I'll run it.","annotations":[]}]},
    {"type":"function_call","id":"fc_1","call_id":"call_1","name":"run_code",
     "arguments":"{\"code\":\"1\"}","status":"completed"},
    {"type":"function_call_output","call_id":"call_1","output":"1"},
    {"role":"user","content":[
      {"type":"input_text","text":"Images of the result of call_1"},
      {"type":"input_image",
       "image_url":"data:image/png;base64,UE5H"}]}])");
  EXPECT_EQ(input, expected) << DumpJson(input);
}

TEST_F(OpenAiResponsesTest, ReasoningThatTheProviderHasNotKeptStaysOut) {
  const json input = Input(Read(
      R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}
{"type":"response.completed","response":{}})"));
  EXPECT_EQ(input, json::array());
}

TEST_F(OpenAiResponsesTest, TheModelsOwnShellIsACall) {
  const LlmTurn turn = Read(
      R"({"type":"response.output_item.done","output_index":0,"item":{"type":"local_shell_call","id":"ls_1","call_id":"c1","status":"completed","action":{"type":"exec","command":["ls"]}}}
{"type":"response.output_item.done","output_index":1,"item":{"type":"shell_call","id":"s_1","call_id":"c2","status":"completed","action":{"commands":["ls"]}}}
{"type":"response.completed","response":{}})");
  ASSERT_THAT(turn.message.calls, SizeIs(2));
  EXPECT_EQ(turn.message.calls[0].name, "local_shell");
  EXPECT_EQ(turn.message.calls[0].arguments,
            R"({"command":["ls"],"type":"exec"})");
  EXPECT_EQ(turn.message.calls[1].name, "shell");
  LlmMessage results;
  results.results = {{"c1", "a"}, {"c2", "b", true}};
  const json input = Input(turn, results);
  EXPECT_EQ(input[2], ParseJson(R"({"type":"local_shell_call_output","id":"c1",
                                    "output":"a"})"));
  EXPECT_EQ(input[3], ParseJson(R"({"type":"shell_call_output","call_id":"c2",
    "output":[{"stdout":"b","stderr":"",
               "outcome":{"type":"exit","exit_code":1}}]})"));
}

TEST_F(OpenAiResponsesTest, TextThatDoesNotComeInPiecesIsHeardOnce) {
  const LlmTurn turn = Read(
      R"({"type":"response.completed","response":{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}]}})");
  EXPECT_EQ(heard_.text, "Hello");
  EXPECT_EQ(turn.message.text, "Hello");
  EXPECT_EQ(turn.stop, LlmStop::kEnd);
}

TEST_F(OpenAiResponsesTest, ArgumentsThatTheBoundCutAreMarked) {
  const LlmTurn turn = Read(
      R"({"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":""}}
{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"code\":\"pri"}
{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"output":[]}})");
  ASSERT_THAT(turn.message.calls, SizeIs(1));
  EXPECT_TRUE(turn.message.calls[0].cut);
  EXPECT_EQ(turn.message.calls[0].arguments, R"({"code":"pri)");
  EXPECT_EQ(turn.stop_reason, "max_output_tokens");
  EXPECT_EQ(Input(turn)[0]["arguments"], "{}");
}

TEST_F(OpenAiResponsesTest, TheEndsOfATurnAreToldApart) {
  const auto stop = [&](const std::string& reason) {
    return Read(absl::StrCat(R"({"type":"response.incomplete","response":{)"
                             R"("incomplete_details":{"reason":")",
                             reason, R"("}}})"))
        .stop;
  };
  EXPECT_EQ(stop("max_output_tokens"), LlmStop::kLength);
  EXPECT_EQ(stop("content_filter"), LlmStop::kRefusal);
}

TEST_F(OpenAiResponsesTest, ARefusalIsHeard) {
  const LlmTurn turn = Read(
      R"({"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}
{"type":"response.refusal.delta","output_index":0,"delta":"I can't"}
{"type":"response.completed","response":{}})");
  EXPECT_EQ(turn.stop, LlmStop::kRefusal);
  EXPECT_EQ(heard_.text, "I can't");
}

TEST_F(OpenAiResponsesTest, FailuresKeepTheirKind) {
  const auto code = [&](std::string_view line) {
    return ReadEveryWay(*codec_, Events(line)).turn.status().code();
  };
  EXPECT_EQ(code(R"({"type":"response.failed","response":{"error":)"
                 R"({"code":"server_error","message":"m"}}})"),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(R"({"type":"error","code":"rate_limit_exceeded",)"
                 R"("message":"m"})"),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(R"({"type":"response.failed","response":{"error":)"
                 R"({"code":"context_length_exceeded","message":"m"}}})"),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(R"({"type":"response.created","response":{}})"),
            absl::StatusCode::kAborted);
}

TEST_F(OpenAiResponsesTest, ADocumentIsATurnAsWell) {
  const ReadAnswer read = ReadEveryWay(*codec_, R"({"object":"response",
    "status":"completed","error":null,"output":[
      {"type":"message","content":[{"type":"output_text","text":"x"}]},
      {"type":"function_call","call_id":"a","name":"f","arguments":"{}",
       "status":"completed"}]})");
  ASSERT_TRUE(read.turn.ok()) << read.turn.status();
  EXPECT_EQ(read.text, "x");
  ASSERT_THAT(read.turn->message.calls, SizeIs(1));
  EXPECT_FALSE(read.turn->message.calls[0].cut);
}

TEST_F(OpenAiResponsesTest, ValuesOfOtherTypesAreNothing) {
  const LlmTurn turn = Read(
      R"([1]
{"type":"response.output_item.added","output_index":"a","item":7}
{"type":"response.output_item.added","output_index":0,"item":{"type":7,"content":7}}
{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":7,"name":[],"arguments":{}}}
{"type":"response.output_item.done","output_index":2,"item":{"type":"message","content":[7,{"text":[]}]}}
{"type":"response.completed","response":{"output":7,"usage":7}})");
  EXPECT_THAT(turn.message.calls, IsEmpty());
  EXPECT_EQ(turn.message.text, "");
}

TEST_F(OpenAiResponsesTest, ARequestHasEachThingInItsPlace) {
  const json body = codec_->Body(LongConversation());
  const json expected = ParseJson(R"({
    "model":"m","stream":true,"store":false,"max_output_tokens":100,
    "include":["reasoning.encrypted_content"],"instructions":"Be brief.",
    "tools":[{"type":"function","name":"run_code","description":"Runs code",
      "parameters":{"type":"object"},"strict":false}],
    "input":[
      {"role":"user","content":[{"type":"input_text","text":"Look"},
        {"type":"input_image","image_url":"data:image/png;base64,UE5H"}]},
      {"role":"assistant","content":[{"type":"output_text","text":"I will"}]},
      {"type":"function_call","call_id":"id.1","name":"run_code",
       "arguments":"{\"code\":\"1\"}"},
      {"type":"function_call","call_id":"id2","name":"no_such_tool",
       "arguments":"{}"},
      {"type":"function_call_output","call_id":"id.1","output":"one"},
      {"type":"function_call_output","call_id":"id2",
       "output":"there is no such tool"},
      {"role":"user","content":[
        {"type":"input_text","text":"Images of the result of id.1"},
        {"type":"input_image","image_url":"data:image/jpeg;base64,SlBH"},
        {"type":"input_text","text":"Go on"}]}]})");
  EXPECT_EQ(body, expected) << DumpJson(body);
}

TEST_F(OpenAiResponsesTest, AModelThatDoesNotReasonIsNotAskedForIt) {
  EXPECT_FALSE(codec_->Adapt("no"));
  EXPECT_TRUE(codec_->Adapt("Encrypted content is not supported"));
  EXPECT_FALSE(codec_->Body({}).contains("include"));
  EXPECT_FALSE(codec_->Adapt("Encrypted content is not supported"));
}

}  // namespace
}  // namespace sandglass::client
