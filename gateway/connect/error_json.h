#ifndef SANDGLASS_GATEWAY_CONNECT_ERROR_JSON_H_
#define SANDGLASS_GATEWAY_CONNECT_ERROR_JSON_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "gateway/connect/codes.h"
#include "gateway/connect/metadata.h"

namespace sandglass::gateway {

// Connect's Error: code, message, and the details that the daemon gave, each
// with its type, its bytes in base64 without padding, and where the type is
// known its JSON as "debug". `status` isn't OK.
std::string ErrorJson(const CallStatus& status);

// Connect's EndStreamResponse: the error, unless `status` is OK, and trailing
// metadata.
std::string EndStreamJson(const CallStatus& status,
                          const HeaderFields& trailing);

// When to try again, by the details' RetryInfo; nullopt when there is none, or
// a negative one.
std::optional<absl::Duration> RetryDelayOf(const CallStatus& status);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_ERROR_JSON_H_
