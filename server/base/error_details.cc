#include "server/base/error_details.h"

#include <utility>

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"

namespace sandglass::server {

void AttachDetail(const google::protobuf::Message& detail,
                  absl::Status& status) {
  status.SetPayload(absl::StrCat(kErrorTypePrefix, detail.GetTypeName()),
                    absl::Cord(detail.SerializeAsString()));
}

absl::Status ErrorWith(const std::map<std::string, std::string>& metadata,
                       absl::StatusCode code, const std::string& reason,
                       const std::string& message) {
  absl::Status status(code, message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kErrorDomain);
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  AttachDetail(info, status);
  return status;
}

absl::Status Retryable(absl::Duration retry_after, absl::Status status) {
  google::rpc::RetryInfo retry;
  *retry.mutable_retry_delay() =
      ToProto(absl::Trunc(retry_after, absl::Milliseconds(1)));
  AttachDetail(retry, status);
  return status;
}

}  // namespace sandglass::server
