#ifndef SANDGLASS_SERVER_RPC_CALL_METRICS_H_
#define SANDGLASS_SERVER_RPC_CALL_METRICS_H_

#include <memory>

#include "grpcpp/support/server_interceptor.h"
#include "server/ops/metrics.h"
#include "server/rpc/open_calls.h"

namespace sandglass::server {

// The name under which a call is counted: its own, or "/unknown/unknown" for a
// method that doesn't exist, since a client can make up such names without end.
const char* MeteredMethod(const char* method);

// Makes an interceptor that tells `metrics` of every call that ends, and
// `calls`, which may be null, of when they begin and end. Both must outlive the
// server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeCallMetrics(Metrics& metrics, OpenCalls* calls);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_CALL_METRICS_H_
