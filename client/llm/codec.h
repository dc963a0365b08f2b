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

// Puts a turn together from what a provider sends, which may be anything.
class TurnDecoder {
 public:
  virtual ~TurnDecoder() = default;

  // One event of the stream. UNAVAILABLE: the provider says that the same
  // request may do later. DATA_LOSS: it isn't what a provider sends.
  virtual absl::Status OnEvent(std::string_view name,
                               const nlohmann::json& event) = 0;
  // The whole turn at once, from a server that doesn't stream.
  virtual absl::Status OnBody(const nlohmann::json& body) = 0;
  // The stream's own mark of its end, "[DONE]".
  virtual void OnDone() = 0;

  // Something of the turn has come: text, thinking or a call.
  virtual bool begun() const = 0;
  // Nothing more will come.
  virtual bool done() const = 0;

  // Once, at the end. ABORTED: the turn isn't whole.
  virtual absl::StatusOr<LlmTurn> Finish() = 0;
};

// A provider's form of requests and answers.
class LlmCodec {
 public:
  virtual ~LlmCodec() = default;

  virtual std::string Url(std::string_view base_url) const = 0;
  // "Name: value". None with a key when that is empty.
  virtual std::vector<std::string> Headers(std::string_view api_key) const = 0;
  virtual nlohmann::json Body(const LlmRequest& request) const = 0;
  // Both must outlive it.
  virtual std::unique_ptr<TurnDecoder> Decoder(
      const LlmRequest& request, const LlmListener& listener) const = 0;

  // Hears why a server refused a request. True: it doesn't know a field that
  // not all have, and Body makes do without from now on.
  virtual bool Adapt(std::string_view refusal) = 0;
};

// `base_url` decides on the name of max_tokens.
std::unique_ptr<LlmCodec> MakeOpenAiChatCodec(std::string_view base_url);
std::unique_ptr<LlmCodec> MakeAnthropicCodec();
std::unique_ptr<LlmCodec> MakeOpenAiResponsesCodec();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_CODEC_H_
