#ifndef SANDGLASS_SERVER_BASE_MAKE_ERROR_H_
#define SANDGLASS_SERVER_BASE_MAKE_ERROR_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/message.h"

// The parts from which errors.cc makes its errors.
namespace sandglass::server::errors {

// The domain of every ErrorInfo.
inline constexpr char kDomain[] = "sandglass.dev";
// The name of each payload of a status begins with this.
inline constexpr char kTypePrefix[] = "type.googleapis.com/";

// Adds one of google.rpc's details as a payload.
void Attach(const google::protobuf::Message& detail, absl::Status& status);

// Makes an error with an ErrorInfo of our domain, and with RetryInfo when
// `retry_after` is given.
absl::Status Make(absl::StatusCode code, const std::string& reason,
                  const std::string& message,
                  std::optional<absl::Duration> retry_after = std::nullopt,
                  const std::map<std::string, std::string>& metadata = {});

// Returns all of `text` if it has at most `max_bytes` bytes. Otherwise returns
// its first `max_bytes` bytes, or a few less, followed by "…". It cuts between
// characters, since a message that is sent must stay valid UTF-8.
std::string Shorten(absl::string_view text, size_t max_bytes);

}  // namespace sandglass::server::errors

#endif  // SANDGLASS_SERVER_BASE_MAKE_ERROR_H_
