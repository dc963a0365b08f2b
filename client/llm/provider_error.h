#ifndef SANDGLASS_CLIENT_LLM_PROVIDER_ERROR_H_
#define SANDGLASS_CLIENT_LLM_PROVIDER_ERROR_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {

// A provider's message about a failed request, whatever its form.
struct ProviderError {
  std::string message;
  std::string kind;  // its type and code, "overloaded_error"; maybe empty
};

// nullopt: the value isn't about an error.
std::optional<ProviderError> ReadProviderError(const nlohmann::json& value);

// The status for an error that came in place of an event, or in an answer that
// began well. UNAVAILABLE: the same request may succeed later.
absl::Status StreamErrorStatus(const ProviderError& error);

// The parts of an HTTP answer from which an error's text is made.
struct HttpErrorFacts {
  long status = 0;
  std::string_view content_type;
  std::string_view body;      // may be cut
  std::string_view location;  // of a redirection
  std::string_view url;       // of the request
  std::string_view model;
  bool has_key = true;  // one was sent
};

struct HttpVerdict {
  absl::Status status;  // with the codes of LlmClient::Ask
  bool retry = false;
};

// The meaning of an answer other than 2xx.
HttpVerdict JudgeHttpError(const HttpErrorFacts& facts);

// Makes a text of others fit for a message: on one line, harmless for a
// terminal, at most about `max_bytes`.
std::string ShortWords(std::string_view text, size_t max_bytes = 500);

// Removes the key from the text, and also the beginning of a key that was cut
// when the text was shortened.
std::string WithoutKey(std::string_view text, std::string_view key);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_PROVIDER_ERROR_H_
