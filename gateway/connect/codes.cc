#include "gateway/connect/codes.h"

#include <array>
#include <cstddef>

#include "server/base/rpc_status.h"

namespace sandglass::gateway {
namespace {

struct Row {
  std::string_view name;
  int http;
};

// By gRPC's numbers, as Connect's protocol has them under "Error Codes".
constexpr std::array<Row, 17> kRows = {{
    {"unknown", 200},  // OK, which is no error
    {"canceled", 499},
    {"unknown", 500},
    {"invalid_argument", 400},
    {"deadline_exceeded", 504},
    {"not_found", 404},
    {"already_exists", 409},
    {"permission_denied", 403},
    {"resource_exhausted", 429},
    {"failed_precondition", 400},
    {"aborted", 409},
    {"out_of_range", 400},
    {"unimplemented", 501},
    {"internal", 500},
    {"unavailable", 503},
    {"data_loss", 500},
    {"unauthenticated", 401},
}};

const Row& RowOf(int code) {
  constexpr size_t kUnknown = 2;
  const bool known = code >= 0 && static_cast<size_t>(code) < kRows.size();
  return kRows[known ? static_cast<size_t>(code) : kUnknown];
}

}  // namespace

CallStatus ToCallStatus(const absl::Status& status) {
  const google::rpc::Status rpc = server::ToRpcStatus(status);
  if (status.ok()) return {};
  return {.code = rpc.code(),
          .message = rpc.message(),
          .details = rpc.SerializeAsString()};
}

std::string_view CodeName(int code) { return RowOf(code).name; }

int HttpStatusOf(int code) { return RowOf(code).http; }

}  // namespace sandglass::gateway
