#ifndef SANDGLASS_GATEWAY_PROXY_CALL_METADATA_H_
#define SANDGLASS_GATEWAY_PROXY_CALL_METADATA_H_

#include <string>

#include "grpcpp/client_context.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/identity/identity.h"

namespace sandglass::gateway {

// Makes the context of a call to a node like that of the call that a client has
// made: its deadline and its metadata, but for what proves who the client is.
// In the place of that comes who the gateway knows it to be.
void PrepareContext(const grpc::CallbackServerContext& from,
                    const server::Identity& caller, grpc::ClientContext& to);
void CopyInitialMetadata(const grpc::ClientContext& from,
                         grpc::CallbackServerContext& to);
// But for the status and its details, which gRPC sends by itself.
void CopyTrailers(const grpc::ClientContext& from,
                  grpc::CallbackServerContext& to);

// The reason of a status' ErrorInfo; empty: it has none.
std::string ReasonOf(const grpc::Status& status);
// Whether a node that ended a call so has not begun with it, and another may:
// it takes nothing now, or not so much.
bool HasNotBegun(const grpc::Status& status);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_CALL_METADATA_H_
