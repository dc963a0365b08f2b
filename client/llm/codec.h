#ifndef SANDGLASS_CLIENT_LLM_CODEC_H_
#define SANDGLASS_CLIENT_LLM_CODEC_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/llm/llm_event.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {

// Assembles a turn from what a provider sends, which may be anything.
class TurnDecoder {
 public:
  virtual ~TurnDecoder() = default;

  // Handles one event of the stream. UNAVAILABLE: the provider says that the
  // same request may succeed later. DATA_LOSS: a provider doesn't send such
  // events.
  virtual absl::Status OnEvent(std::string_view name,
                               const nlohmann::json& event) = 0;
  // Handles a whole turn at once, from a server that doesn't stream.
  virtual absl::Status OnBody(const nlohmann::json& body) = 0;
  // Handles the stream's own mark of its end, "[DONE]".
  virtual void OnDone() = 0;

  // Whether anything of the turn has come: text, thinking or a call.
  virtual bool begun() const = 0;
  // Whether nothing more will come.
  virtual bool done() const = 0;

  // Call once, at the end. ABORTED: the turn isn't complete.
  virtual absl::StatusOr<LlmTurn> Finish() = 0;
};

// A provider's format of requests and answers.
class LlmCodec {
 public:
  virtual ~LlmCodec() = default;

  virtual std::string Url(std::string_view base_url) const = 0;
  // Lines "Name: value". If the key is empty, no header contains one.
  virtual std::vector<std::string> Headers(std::string_view api_key) const = 0;
  virtual nlohmann::json Body(const LlmRequest& request) const = 0;
  // Both arguments have to outlive the decoder.
  virtual std::unique_ptr<TurnDecoder> Decoder(
      const LlmRequest& request, const LlmListener& listener) const = 0;

  // Call with the reason why a server refused a request. True: the server
  // doesn't know a field that not all servers have, and Body omits that field
  // from now on.
  virtual bool Adapt(std::string_view refusal) = 0;
};

// `base_url` determines the name of the field max_tokens.
std::unique_ptr<LlmCodec> MakeOpenAiChatCodec(std::string_view base_url);
std::unique_ptr<LlmCodec> MakeAnthropicCodec();
std::unique_ptr<LlmCodec> MakeOpenAiResponsesCodec();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_CODEC_H_
