#include "server/base/rpc_status.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "google/rpc/error_details.pb.h"
#include "server/base/errors.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// Trailing metadata holds the message (percent-encoded: up to three times its
// size) and the details (base64: 4/3), which repeat the message.
constexpr size_t kMaxMessageBytes = 1024;

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status out;
  if (status.ok()) return out;
  // The codes of absl have the same values as those of gRPC.
  out.set_code(static_cast<int32_t>(status.code()));
  out.set_message(Shorten(status.message(), kMaxMessageBytes));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& value) {
    if (!absl::StartsWith(type, kErrorTypePrefix)) return;
    google::protobuf::Any* any = out.add_details();
    any->set_type_url(std::string(type));
    any->set_value(std::string(value));
  });
  if (out.details().empty()) {
    google::rpc::ErrorInfo info;
    info.set_reason("UNEXPECTED");
    info.set_domain(kErrorDomain);
    out.add_details()->PackFrom(info);
  }
  return out;
}

}  // namespace sandglass::server
