#ifndef SANDGLASS_SERVER_EDGE_IDENTITY_SERVICE_H_
#define SANDGLASS_SERVER_EDGE_IDENTITY_SERVICE_H_

#include <memory>

#include "grpcpp/impl/codegen/service_type.h"
#include "server/base/call_threads.h"
#include "server/edge/peers.h"

namespace sandglass::server {

// The API's IdentityService: who calls, and the tokens of `peers`' credentials.
// Both must outlive it.
std::unique_ptr<grpc::Service> MakeIdentityService(CallThreads& threads,
                                                   const PeerTable& peers);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_IDENTITY_SERVICE_H_
