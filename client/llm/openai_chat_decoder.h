#ifndef SANDGLASS_CLIENT_LLM_OPENAI_CHAT_DECODER_H_
#define SANDGLASS_CLIENT_LLM_OPENAI_CHAT_DECODER_H_

#include <string_view>

#include "client/llm/call_parts.h"
#include "client/llm/codec.h"
#include "client/llm/llm_event.h"

namespace sandglass::client {

// The name in LlmMessage::raw. Under it the model's reasoning is kept, under
// the provider's name for that.
inline constexpr std::string_view kOpenAiChatRaw = "openai-chat";

// Decodes answers of Chat Completions, from OpenAI and the many servers that
// imitate it. Only the first choice is used.
class OpenAiChatDecoder : public TurnDecoder {
 public:
  OpenAiChatDecoder(const LlmRequest& request, const LlmListener& listener)
      : request_(request), listener_(listener) {}

  absl::Status OnEvent(std::string_view name,
                       const nlohmann::json& event) override;
  absl::Status OnBody(const nlohmann::json& body) override;
  void OnDone() override { done_ = true; }
  bool begun() const override { return begun_; }
  bool done() const override { return done_; }
  absl::StatusOr<LlmTurn> Finish() override;

 private:
  absl::Status OnChoice(const nlohmann::json& choice);
  // Handles a delta, or a whole message.
  absl::Status OnMessage(const nlohmann::json& message);
  void OnContent(const nlohmann::json& content);
  void OnText(std::string_view text);
  void OnThinking(std::string_view name, std::string_view text);
  void OnUsage(const nlohmann::json& usage);

  const LlmRequest& request_;
  const LlmListener& listener_;
  LlmTurn turn_;
  CallParts calls_;
  nlohmann::json reasoning_;
  bool refused_ = false;
  bool begun_ = false;
  bool done_ = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_OPENAI_CHAT_DECODER_H_
