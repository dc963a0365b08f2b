#include "server/edge/grpc_status.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/base/errors.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// Trailing metadata holds the message (percent-encoded: up to three times its
// size) and the details (base64: 4/3), which repeat the message.
constexpr size_t kMaxMessageBytes = 1024;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = Shorten(status.message(), kMaxMessageBytes);
  google::rpc::Status details;
  details.set_code(static_cast<int32_t>(status.code()));
  details.set_message(message);
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& value) {
    if (!absl::StartsWith(type, kErrorTypePrefix)) return;
    google::protobuf::Any* any = details.add_details();
    any->set_type_url(std::string(type));
    any->set_value(std::string(value));
  });
  if (details.details().empty()) {
    google::rpc::ErrorInfo info;
    info.set_reason("UNEXPECTED");
    info.set_domain(kErrorDomain);
    details.add_details()->PackFrom(info);
  }
  // The codes of absl have the same values as those of gRPC.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message,
                      details.SerializeAsString());
}

}  // namespace sandglass::server
