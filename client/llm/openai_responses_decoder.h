#ifndef SANDGLASS_CLIENT_LLM_OPENAI_RESPONSES_DECODER_H_
#define SANDGLASS_CLIENT_LLM_OPENAI_RESPONSES_DECODER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/llm/codec.h"
#include "client/llm/llm_event.h"

namespace sandglass::client {

// The name in LlmMessage::raw, under which the turn's output items are kept,
// including reasoning, which is encrypted and must be sent back unchanged.
inline constexpr std::string_view kOpenAiResponsesRaw = "openai-responses";

// The name of the tool that an item of this type calls; empty: it isn't a call.
// The model's own shells are "shell" and "local_shell", and their arguments are
// the action.
std::string_view ToolOfItem(const nlohmann::json& item);

// Decodes answers of OpenAI's Responses API.
class OpenAiResponsesDecoder : public TurnDecoder {
 public:
  OpenAiResponsesDecoder(const LlmRequest& request, const LlmListener& listener)
      : request_(request), listener_(listener) {}

  absl::Status OnEvent(std::string_view name,
                       const nlohmann::json& event) override;
  absl::Status OnBody(const nlohmann::json& body) override;
  void OnDone() override { done_ = true; }
  bool begun() const override { return begun_; }
  bool done() const override { return done_; }
  absl::StatusOr<LlmTurn> Finish() override;

 private:
  struct Item {
    uint64_t index = 0;
    nlohmann::json value;   // an object, as begun or, later, as done
    std::string text;       // that was passed to the listener
    std::string arguments;  // of a call, in pieces
    bool done = false;
  };

  absl::Status OnItem(uint64_t index, const nlohmann::json& value, bool done);
  void OnDelta(std::string_view type, Item& item, std::string_view delta);
  // Handles the response as a whole, at its end.
  absl::Status OnEnd(std::string_view type, const nlohmann::json& response);
  void OnUsage(const nlohmann::json& usage);
  Item* Find(uint64_t index);
  // Passes on what is in an item that came whole and was not passed on in
  // pieces.
  void HandleRest(Item& item);
  void AddCall(Item& item);

  const LlmRequest& request_;
  const LlmListener& listener_;
  LlmTurn turn_;
  std::vector<Item> items_;
  bool refused_ = false;
  bool begun_ = false;
  bool done_ = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_OPENAI_RESPONSES_DECODER_H_
