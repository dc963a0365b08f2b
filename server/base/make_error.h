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

// What errors.cc makes its errors of.
namespace sandglass::server::errors {

// Of every ErrorInfo.
inline constexpr char kDomain[] = "sandglass.dev";
// What begins the name of each payload of a status.
inline constexpr char kTypePrefix[] = "type.googleapis.com/";

// Adds one of google.rpc's details as a payload.
void Attach(const google::protobuf::Message& detail, absl::Status& status);

// With an ErrorInfo of our domain, and RetryInfo where there is a time.
absl::Status Make(absl::StatusCode code, const std::string& reason,
                  const std::string& message,
                  std::optional<absl::Duration> retry_after = std::nullopt,
                  const std::map<std::string, std::string>& metadata = {});

// The first `max_bytes` bytes of `text`, or a few less, and then "…"; all of a
// text that has no more. Cuts at a character's boundary: what is sent must stay
// valid UTF-8.
std::string Shorten(absl::string_view text, size_t max_bytes);

}  // namespace sandglass::server::errors

#endif  // SANDGLASS_SERVER_BASE_MAKE_ERROR_H_
