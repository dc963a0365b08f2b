#include "server/edge/grpc_status.h"

#include "server/base/rpc_status.h"

namespace sandglass::server {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status details = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(details.code()),
                      details.message(), details.SerializeAsString());
}

}  // namespace sandglass::server
