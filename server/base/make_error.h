#ifndef SANDGLASS_SERVER_BASE_MAKE_ERROR_H_
#define SANDGLASS_SERVER_BASE_MAKE_ERROR_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/protobuf/message.h"

// What the functions of errors.h are made of; nobody else makes errors.
namespace sandglass::server::make_error {

using Code = absl::StatusCode;

// A time in messages.
std::string Seconds(absl::Duration duration);

// Adds one of google.rpc's details as a payload.
void Attach(const google::protobuf::Message& detail, absl::Status& status);
void AttachRetry(absl::Duration retry_after, absl::Status& status);

// Adds the QuotaFailure of `cause`, if it has one.
void CopyQuota(const absl::Status& cause, absl::Status& status);

// Makes an error with an ErrorInfo of our domain.
absl::Status MakeWith(const std::map<std::string, std::string>& metadata,
                      Code code, const std::string& reason,
                      const std::string& message);

// The same without metadata. The message is made of the pieces, as by
// absl::StrCat.
template <typename... Pieces>
absl::Status Make(Code code, const std::string& reason,
                  const Pieces&... pieces) {
  return MakeWith({}, code, reason, absl::StrCat(pieces...));
}

// And with RetryInfo.
template <typename... Pieces>
absl::Status MakeRetryable(Code code, const std::string& reason,
                           absl::Duration retry_after,
                           const Pieces&... pieces) {
  absl::Status status = Make(code, reason, pieces...);
  AttachRetry(retry_after, status);
  return status;
}

}  // namespace sandglass::server::make_error

#endif  // SANDGLASS_SERVER_BASE_MAKE_ERROR_H_
