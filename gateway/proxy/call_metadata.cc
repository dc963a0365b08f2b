#include "gateway/proxy/call_metadata.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/edge/peers.h"
#include "server/edge/vouched_caller.h"

namespace sandglass::gateway {
namespace {

// What a client shows of itself, and what each connection says for itself.
constexpr std::array kOfTheConnection = {
    "authorization", server::kCallerMetadata, server::kConnectionMetadata,
    "user-agent", "host"};
// gRPC's own begin so.
constexpr char kOfGrpc[] = "grpc-";

// What a node says when it has not begun with a request, and another may.
constexpr std::array<std::string_view, 12> kNotBegun = {
    "QUEUE_FULL",           "QUEUE_SHARE_FULL",     "QUEUE_BYTES_FULL",
    "DEADLINE_UNREACHABLE", "MACHINE_LACKS_MEMORY", "SESSION_MEMORY_FULL",
    "TOO_MANY_SESSIONS",    "SHUTTING_DOWN",        "LANGUAGE_PREPARING",
    "SANDBOX_UNAVAILABLE",  "ISOLATION_BROKEN",     "AUDIT_UNWRITABLE"};

bool PassesOn(std::string_view name) {
  return !absl::StartsWith({name.data(), name.size()}, kOfGrpc) &&
         std::ranges::find(kOfTheConnection, name) == kOfTheConnection.end();
}

template <typename Each>
void ForEach(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
             const Each& each) {
  for (const auto& [name, value] : metadata) {
    const std::string key(name.data(), name.size());
    if (PassesOn(key)) each(key, std::string(value.data(), value.size()));
  }
}

}  // namespace

void PrepareContext(const grpc::CallbackServerContext& from,
                    const server::Identity& caller, grpc::ClientContext& to) {
  ForEach(from.client_metadata(),
          [&to](const std::string& name, const std::string& value) {
            to.AddMetadata(name, value);
          });
  to.AddMetadata(server::kCallerMetadata, server::ToCallerMetadata(caller));
  to.set_deadline(from.deadline());
}

void CopyInitialMetadata(const grpc::ClientContext& from,
                         grpc::CallbackServerContext& to) {
  ForEach(from.GetServerInitialMetadata(),
          [&to](const std::string& name, const std::string& value) {
            to.AddInitialMetadata(name, value);
          });
}

void CopyTrailers(const grpc::ClientContext& from,
                  grpc::CallbackServerContext& to) {
  ForEach(from.GetServerTrailingMetadata(),
          [&to](const std::string& name, const std::string& value) {
            to.AddTrailingMetadata(name, value);
          });
}

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return "";
  google::rpc::ErrorInfo info;
  for (const auto& detail : details.details()) {
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return "";
}

bool HasNotBegun(const grpc::Status& status) {
  return std::ranges::find(kNotBegun, ReasonOf(status)) != kNotBegun.end();
}

}  // namespace sandglass::gateway
