#ifndef SANDGLASS_GATEWAY_CONNECT_UNARY_H_
#define SANDGLASS_GATEWAY_CONNECT_UNARY_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gateway/connect/answers.h"
#include "gateway/connect/call_head.h"
#include "gateway/connect/json_codec.h"
#include "gateway/connect/metadata.h"

namespace sandglass::gateway {

// One message of a request as gRPC's, of whatever protocol: JSON is read
// (ReadJson), and protobuf goes on as it is, for the daemon to check.
// INVALID_ARGUMENT for JSON that isn't as it has to be, RESOURCE_EXHAUSTED with
// "MESSAGE_TOO_LARGE" for more than `bounds.bytes`.
absl::StatusOr<std::string> RequestMessage(const CallHead& call,
                                           std::string_view message,
                                           const JsonBounds& bounds);

// The daemon's message in the form that the call's answers have. INTERNAL when
// it can't be written as JSON.
absl::StatusOr<std::string> AnswerMessage(const CallHead& call,
                                          std::string_view message);

// The request of a unary call of Connect: its body, or the query of a GET.
absl::StatusOr<std::string> UnaryRequest(const CallHead& call,
                                         std::string_view body,
                                         const JsonBounds& bounds);

// The answer to a unary call of Connect that succeeded, with the daemon's
// metadata as headers, its trailers as "trailer-…".
HttpAnswer UnaryAnswer(const CallHead& call, std::string_view message,
                       const HeaderFields& initial,
                       const HeaderFields& trailing);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_UNARY_H_
