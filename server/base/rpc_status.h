#ifndef SANDGLASS_SERVER_BASE_RPC_STATUS_H_
#define SANDGLASS_SERVER_BASE_RPC_STATUS_H_

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace sandglass::server {

// Converts an error of server/base/errors.h into what a caller gets, with its
// message bounded so that a client's default limit for metadata (8 KiB) holds.
// An error that none of them made gets an ErrorInfo with the reason
// "UNEXPECTED". OK becomes a message that is empty.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_RPC_STATUS_H_
