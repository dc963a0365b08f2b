#include "gateway/connect/error_json.h"

#include <memory>
#include <string_view>
#include <utility>

#include "gateway/connect/base64.h"
#include "gateway/connect/json_codec.h"
#include "google/protobuf/any.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "nlohmann/json.hpp"
#include "server/base/proto_time.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::Any;
using nlohmann::ordered_json;

google::rpc::Status DetailsOf(const CallStatus& status) {
  google::rpc::Status details;
  // What isn't one has no details.
  if (!details.ParseFromString(status.details)) details.Clear();
  return details;
}

std::string TypeOf(const Any& detail) {
  return detail.type_url().substr(detail.type_url().rfind('/') + 1);
}

ordered_json Debug(const Any& detail) {
  const auto* const type =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
          TypeOf(detail));
  if (type == nullptr) return nullptr;
  const auto text = WriteJson(detail.value(), *type, /*texts=*/false);
  if (!text.ok()) return nullptr;
  ordered_json debug = ordered_json::parse(*text, nullptr, false);
  return debug.is_discarded() ? ordered_json(nullptr) : debug;
}

ordered_json ErrorOf(const CallStatus& status) {
  ordered_json error = {{"code", CodeName(status.code)}};
  if (!status.message.empty()) error["message"] = status.message;
  const google::rpc::Status details = DetailsOf(status);
  for (const Any& detail : details.details()) {
    ordered_json entry = {{"type", TypeOf(detail)},
                          {"value", UnpaddedBase64(detail.value())}};
    ordered_json debug = Debug(detail);
    if (!debug.is_null()) entry["debug"] = std::move(debug);
    error["details"].push_back(std::move(entry));
  }
  return error;
}

// A message that isn't UTF-8 must not make the whole error unreadable.
std::string Written(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string ErrorJson(const CallStatus& status) {
  return Written(ErrorOf(status));
}

std::string EndStreamJson(const CallStatus& status,
                          const HeaderFields& trailing) {
  ordered_json end = ordered_json::object();
  if (!status.ok()) end["error"] = ErrorOf(status);
  for (const HeaderField& field : AnswerHeaders(trailing)) {
    end["metadata"][field.name].push_back(field.value);
  }
  return Written(end);
}

std::optional<absl::Duration> RetryDelayOf(const CallStatus& status) {
  const google::rpc::Status details = DetailsOf(status);
  for (const Any& detail : details.details()) {
    google::rpc::RetryInfo retry;
    if (!detail.Is<google::rpc::RetryInfo>() || !detail.UnpackTo(&retry)) {
      continue;
    }
    const absl::Duration delay = server::FromProto(retry.retry_delay());
    if (delay < absl::ZeroDuration()) return std::nullopt;
    return delay;
  }
  return std::nullopt;
}

}  // namespace sandglass::gateway
