#include "server/base/make_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/base/strings.h"

namespace sandglass::server::errors {
void Attach(const google::protobuf::Message& detail, absl::Status& status) {
  status.SetPayload(absl::StrCat(kTypePrefix, detail.GetTypeName()),
                    absl::Cord(detail.SerializeAsString()));
}

absl::Status Make(absl::StatusCode code, const std::string& reason,
                  const std::string& message,
                  std::optional<absl::Duration> retry_after,
                  const std::map<std::string, std::string>& metadata) {
  absl::Status status(code, message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kDomain);
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  Attach(info, status);
  if (retry_after.has_value()) {
    google::rpc::RetryInfo retry;
    const int64_t ms = absl::ToInt64Milliseconds(*retry_after);
    retry.mutable_retry_delay()->set_seconds(ms / 1000);
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int32_t>(ms % 1000 * 1'000'000));
    Attach(retry, status);
  }
  return status;
}

std::string Shorten(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const size_t end = WholeCharacters(StdView(text), max_bytes);
  return absl::StrCat(text.substr(0, end), "…");
}

}  // namespace sandglass::server::errors
