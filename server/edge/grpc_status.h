#ifndef SANDGLASS_SERVER_EDGE_GRPC_STATUS_H_
#define SANDGLASS_SERVER_EDGE_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace sandglass::server {

// Converts an error of server/base/errors.h into what a caller gets; nothing
// else does. Details go into grpc-status-details-bin, bounded so that a
// client's default limit for metadata (8 KiB) holds.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_GRPC_STATUS_H_
