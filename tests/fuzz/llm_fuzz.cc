// What a provider of models sends: a stream of events or a document. The first
// byte says whose form it is read as, the second how it is cut. However it is
// cut, the same comes of it, and the turn can be sent back.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "client/llm/answer_reader.h"
#include "client/llm/codec.h"
#include "client/llm/json_value.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 16;

std::unique_ptr<LlmCodec> Codec(uint8_t number) {
  switch (number % 3) {
    case 0:
      return MakeOpenAiChatCodec("http://host/v1");
    case 1:
      return MakeAnthropicCodec();
    default:
      return MakeOpenAiResponsesCodec();
  }
}

struct Answer {
  absl::StatusOr<LlmTurn> turn = absl::UnknownError("");
  std::string heard;
};

Answer Read(const LlmCodec& codec, const LlmRequest& request,
            std::string_view body, size_t chunk) {
  Answer answer;
  const auto hear = [&](std::string_view text) { answer.heard += text; };
  const LlmListener listener = {.on_text = hear, .on_thinking = hear};
  const std::unique_ptr<TurnDecoder> decoder = codec.Decoder(request, listener);
  AnswerReader reader(*decoder, kMaxBytes);
  absl::Status status;
  for (size_t at = 0; at < body.size() && status.ok(); at += chunk) {
    status = reader.Feed(body.substr(at, chunk));
  }
  answer.turn = status.ok() ? reader.Finish() : absl::StatusOr<LlmTurn>(status);
  return answer;
}

void CheckTurn(const LlmTurn& turn) {
  LlmRequest request;
  request.messages = {turn.message};
  for (uint8_t number = 0; number < 3; ++number) {
    const std::unique_ptr<LlmCodec> codec = Codec(number);
    const std::string body = DumpJson(codec->Body(request));
    FUZZ_CHECK(ParseJson(body).is_object());
  }
  FUZZ_CHECK(turn.message.calls.empty() == (turn.stop != LlmStop::kTools));
  for (const LlmToolCall& call : turn.message.calls) {
    FUZZ_CHECK(!call.id.empty() && !call.arguments.empty());
  }
}

}  // namespace
}  // namespace sandglass::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace client = sandglass::client;
  sandglass::fuzz::Input input(data, size);
  const auto codec = client::Codec(input.Byte());
  const size_t chunk = std::max<size_t>(input.Byte() % 64, 1);
  const std::string_view body = input.Rest();
  const client::LlmRequest request;
  const auto whole =
      client::Read(*codec, request, body, std::max<size_t>(body.size(), 1));
  const auto cut = client::Read(*codec, request, body, chunk);
  FUZZ_CHECK(whole.turn.status() == cut.turn.status());
  FUZZ_CHECK(whole.heard == cut.heard);
  if (whole.turn.ok()) client::CheckTurn(*whole.turn);
  return 0;
}
