#ifndef SANDGLASS_CLIENT_LLM_ANTHROPIC_DECODER_H_
#define SANDGLASS_CLIENT_LLM_ANTHROPIC_DECODER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/llm/codec.h"
#include "client/llm/llm_event.h"

namespace sandglass::client {

// The name in LlmMessage::raw, under which the turn's content blocks are kept:
// thinking must be sent back with its signature, byte by byte.
inline constexpr std::string_view kAnthropicRaw = "anthropic";

// Decodes answers of Anthropic's Messages API.
class AnthropicDecoder : public TurnDecoder {
 public:
  AnthropicDecoder(const LlmRequest& request, const LlmListener& listener)
      : request_(request), listener_(listener) {}

  absl::Status OnEvent(std::string_view name,
                       const nlohmann::json& event) override;
  absl::Status OnBody(const nlohmann::json& body) override;
  void OnDone() override { done_ = true; }
  bool begun() const override { return begun_; }
  bool done() const override { return done_; }
  absl::StatusOr<LlmTurn> Finish() override;

 private:
  struct Block {
    uint64_t index = 0;
    nlohmann::json value;  // an object
    std::string partial;   // of the JSON text of its input
    bool stopped = false;
  };

  absl::Status OnBlockStart(uint64_t index, const nlohmann::json& value);
  void OnBlockDelta(Block& block, const nlohmann::json& delta);
  void OnStop(const nlohmann::json& message);
  void OnUsage(const nlohmann::json& usage);
  Block* Find(uint64_t index);
  // Appends to a text member of the block.
  void Extend(Block& block, const char* name, std::string_view text);
  void HandleDelta(const nlohmann::json& value);
  void AddCall(Block& block);

  const LlmRequest& request_;
  const LlmListener& listener_;
  LlmTurn turn_;
  std::vector<Block> blocks_;
  uint64_t fresh_tokens_ = 0, written_tokens_ = 0;
  bool begun_ = false;
  bool done_ = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_ANTHROPIC_DECODER_H_
