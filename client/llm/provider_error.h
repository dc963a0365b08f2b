#ifndef SANDGLASS_CLIENT_LLM_PROVIDER_ERROR_H_
#define SANDGLASS_CLIENT_LLM_PROVIDER_ERROR_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {

// What a provider says about a request that failed, in whichever form.
struct ProviderError {
  std::string message;
  std::string kind;  // its type and code, "overloaded_error"; maybe empty
};

// nullopt: the value doesn't speak of an error.
std::optional<ProviderError> ReadProviderError(const nlohmann::json& value);

// An error in the place of an event or of an answer that began well.
// UNAVAILABLE: the same request may do later.
absl::Status StreamErrorStatus(const ProviderError& error);

// The part of an HTTP answer that an error's text is made of.
struct HttpErrorFacts {
  long status = 0;
  std::string_view content_type;
  std::string_view body;      // maybe cut
  std::string_view location;  // of a redirection
  std::string_view url;       // that was asked
  std::string_view model;
  bool has_key = true;  // one was sent
};

struct HttpVerdict {
  absl::Status status;  // by the codes of LlmClient::Ask
  bool retry = false;
};

// What an answer other than 2xx means.
HttpVerdict JudgeHttpError(const HttpErrorFacts& facts);

// Text of others for a message: on one line, harmless for a terminal, at most
// about `most_bytes`.
std::string ShortWords(std::string_view text, size_t most_bytes = 500);

// The text without the key in it, and without the start of one that the
// shortening of the text has cut.
std::string WithoutKey(std::string_view text, std::string_view key);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_PROVIDER_ERROR_H_
