#include "server/base/make_error.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"

namespace sandglass::server::make_error {

std::string Seconds(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(1)));
}

void Attach(const google::protobuf::Message& detail, absl::Status& status) {
  status.SetPayload(absl::StrCat(kErrorTypePrefix, detail.GetTypeName()),
                    absl::Cord(detail.SerializeAsString()));
}

void AttachRetry(absl::Duration retry_after, absl::Status& status) {
  google::rpc::RetryInfo retry;
  *retry.mutable_retry_delay() =
      ToProto(absl::Trunc(retry_after, absl::Milliseconds(1)));
  Attach(retry, status);
}

void CopyQuota(const absl::Status& cause, absl::Status& status) {
  const std::string type =
      absl::StrCat(kErrorTypePrefix, google::rpc::QuotaFailure().GetTypeName());
  if (const auto quota = cause.GetPayload(type)) {
    status.SetPayload(type, *quota);
  }
}

absl::Status MakeWith(const std::map<std::string, std::string>& metadata,
                      Code code, const std::string& reason,
                      const std::string& message) {
  absl::Status status(code, message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kErrorDomain);
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  Attach(info, status);
  return status;
}

}  // namespace sandglass::server::make_error
