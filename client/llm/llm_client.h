#ifndef SANDGLASS_CLIENT_LLM_LLM_CLIENT_H_
#define SANDGLASS_CLIENT_LLM_LLM_CLIENT_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/llm/llm_event.h"

namespace sandglass::client {

enum class LlmProvider { kOpenAiChat, kAnthropic, kOpenAiResponses };

struct LlmOptions {
  LlmProvider provider = LlmProvider::kOpenAiChat;
  // With its version, without a slash at the end: "https://api.openai.com/v1",
  // "http://127.0.0.1:11434/v1". Anthropic's has none:
  // "https://…anthropic.com".
  std::string base_url;
  std::string api_key;  // empty: none is sent. Never in a message or a log.
  // Beside the host's; proxy variables hold as curl has them.
  std::string ca_file;
  int attempts = 5;  // of a request whose answer didn't begin
  // Before the second attempt; then it doubles, up to 30 s.
  absl::Duration first_wait = absl::Milliseconds(500);
  absl::Duration connect_timeout = absl::Seconds(15);
  absl::Duration silence_timeout = absl::Minutes(5);  // between two bytes
  size_t most_bytes = size_t{16} << 20;               // of an answer
};

// Talks to one provider. One request at a time.
class LlmClient {
 public:
  // INVALID_ARGUMENT: the address or the key can't be one.
  // FAILED_PRECONDITION: libcurl isn't installed.
  static absl::StatusOr<std::unique_ptr<LlmClient>> Create(LlmOptions options);
  virtual ~LlmClient() = default;

  // Sends a request and reads the turn as it streams. 429, 529, 5xx and broken
  // connections are tried again with back-off, longer where Retry-After says
  // so, as long as nothing of the turn has come; `on_wait` hears why and how
  // long. `cancel` set by another thread ends it within 100 ms.
  // UNAUTHENTICATED: no key, or a wrong one. NOT_FOUND: there is no such model
  // or address. INVALID_ARGUMENT: the provider refused the request, in its own
  // words. UNAVAILABLE: not reachable, TLS failed, or overloaded to the last
  // attempt. RESOURCE_EXHAUSTED: the answer is too large, or the conversation
  // is. DATA_LOSS: the stream was cut, or isn't what a provider sends.
  // CANCELLED.
  virtual absl::StatusOr<LlmTurn> Ask(
      const LlmRequest& request, const LlmListener& listener,
      const std::function<void(const std::string& why, absl::Duration wait)>&
          on_wait,
      const std::atomic<bool>& cancel) = 0;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_LLM_CLIENT_H_
