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
  // With the API's version, without a final slash: "https://api.openai.com/v1",
  // "http://127.0.0.1:11434/v1". Anthropic's has no version:
  // "https://…anthropic.com".
  std::string base_url;
  std::string api_key;  // empty: none is sent. Never shown or logged.
  // In addition to the host's. Proxy variables have the same meaning as for
  // curl.
  std::string ca_file;
  int attempts = 5;  // of a request, until an answer begins
  // The wait before the second attempt; it then doubles each time, up to 30 s.
  absl::Duration first_wait = absl::Milliseconds(500);
  absl::Duration connect_timeout = absl::Seconds(15);
  absl::Duration silence_timeout = absl::Minutes(5);  // between two bytes
  size_t max_bytes = size_t{16} << 20;                // of an answer
};

// Talks to one provider. Handles one request at a time.
class LlmClient {
 public:
  // INVALID_ARGUMENT: the address or the key is malformed. FAILED_PRECONDITION:
  // libcurl isn't installed.
  static absl::StatusOr<std::unique_ptr<LlmClient>> Create(LlmOptions options);
  virtual ~LlmClient() = default;

  // Sends a request and reads the turn as it streams. As long as nothing of the
  // turn has come, 429, 529, 5xx and broken connections are retried with
  // back-off, after a longer wait if Retry-After asks for one; `on_wait` is
  // called with the reason and the wait. When another thread sets `cancel`, the
  // call ends within 100 ms.
  // UNAUTHENTICATED: no key, or a wrong one. NOT_FOUND: there is no such model
  // or address. INVALID_ARGUMENT: the provider refused the request, in its own
  // words. UNAVAILABLE: not reachable, TLS failed, or overloaded until the last
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
