#ifndef SANDGLASS_SERVER_BASE_ERROR_DETAILS_H_
#define SANDGLASS_SERVER_BASE_ERROR_DETAILS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/protobuf/message.h"

namespace sandglass::server {

// Of these the functions in errors.h and its like make the API's errors.

// Adds one of google.rpc's details as a payload.
void AttachDetail(const google::protobuf::Message& detail,
                  absl::Status& status);

// Makes an error with an ErrorInfo of our domain.
absl::Status ErrorWith(const std::map<std::string, std::string>& metadata,
                       absl::StatusCode code, const std::string& reason,
                       const std::string& message);
// Adds RetryInfo.
absl::Status Retryable(absl::Duration retry_after, absl::Status status);

// The same without metadata. The message is made of the pieces, as by
// absl::StrCat.
template <typename... Pieces>
absl::Status ErrorOf(absl::StatusCode code, const std::string& reason,
                     const Pieces&... pieces) {
  return ErrorWith({}, code, reason, absl::StrCat(pieces...));
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_ERROR_DETAILS_H_
