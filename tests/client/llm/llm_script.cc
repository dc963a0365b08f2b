#include "tests/client/llm/llm_script.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/llm/answer_reader.h"
#include "client/llm/json_value.h"

namespace sandglass::client {
namespace {

ReadAnswer ReadChunks(const LlmCodec& codec,
                      const std::vector<std::string_view>& chunks,
                      const LlmRequest& request) {
  ReadAnswer read;
  const LlmListener listener = {
      .on_text = [&](std::string_view text) { read.text += text; },
      .on_thinking = [&](std::string_view text) { read.thinking += text; }};
  const std::unique_ptr<TurnDecoder> decoder = codec.Decoder(request, listener);
  AnswerReader reader(*decoder, size_t{1} << 20);
  absl::Status status;
  for (const std::string_view chunk : chunks) {
    if (status.ok()) status = reader.Feed(chunk);
  }
  read.turn = status.ok() ? reader.Finish() : absl::StatusOr<LlmTurn>(status);
  read.begun = decoder->begun();
  return read;
}

// All but ids, which may be made anew each time.
std::string Describe(const ReadAnswer& read) {
  std::string all = absl::StrCat(read.text, "|", read.thinking, "|", read.begun,
                                 "|", read.turn.status().ToString());
  if (!read.turn.ok()) return all;
  const LlmTurn& turn = *read.turn;
  absl::StrAppend(&all, "|", turn.message.text, "|",
                  static_cast<int>(turn.stop), "|", turn.stop_reason, "|",
                  turn.usage.input_tokens, "|", turn.usage.output_tokens, "|",
                  turn.usage.cached_tokens);
  for (const LlmToolCall& call : turn.message.calls) {
    EXPECT_FALSE(call.id.empty());
    absl::StrAppend(&all, "|", call.name, "|", call.arguments, "|", call.cut);
  }
  return all;
}

}  // namespace

ReadAnswer ReadWhole(const LlmCodec& codec, std::string_view body,
                     const LlmRequest& request) {
  return ReadChunks(codec, {body}, request);
}

ReadAnswer ReadEveryWay(const LlmCodec& codec, std::string_view body,
                        const LlmRequest& request) {
  ReadAnswer whole = ReadWhole(codec, body, request);
  const std::string expected = Describe(whole);
  std::vector<std::string_view> bytes;
  for (size_t cut = 0; cut < body.size(); ++cut) {
    bytes.push_back(body.substr(cut, 1));
    const ReadAnswer read =
        ReadChunks(codec, {body.substr(0, cut), body.substr(cut)}, request);
    EXPECT_EQ(Describe(read), expected) << "cut at " << cut;
  }
  EXPECT_EQ(Describe(ReadChunks(codec, bytes, request)), expected);
  return whole;
}

std::string Events(std::string_view lines) {
  std::string stream;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(std::string(lines), '\n'))) {
    if (!line.empty()) absl::StrAppend(&stream, "data: ", line, "\n\n");
  }
  return stream;
}

LlmRequest LongConversation() {
  LlmRequest request;
  request.model = "m";
  request.system = "Be brief.";
  request.max_tokens = 100;
  request.tools.push_back(
      {"run_code", "Runs code", ParseJson(R"({"type":"object"})"), nullptr});
  LlmMessage question;
  question.text = "Look";
  question.images = {{"image/png", "PNG"}};
  LlmMessage answer;
  answer.role = LlmMessage::Role::kModel;
  answer.text = "I will";
  answer.calls = {{"id.1", "run_code", R"({"code":"1"})"},
                  {"id2", "no such tool", R"({"code":"pri)", true}};
  LlmMessage results;
  results.results = {{"id.1", "one", false, {{"image/jpeg", "JPG"}}},
                     {"id2", "there is no such tool", true}};
  results.text = "Go on";
  request.messages = {question, answer, results};
  return request;
}

}  // namespace sandglass::client
