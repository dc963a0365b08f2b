#ifndef SANDGLASS_SERVER_RPC_CALL_METRICS_H_
#define SANDGLASS_SERVER_RPC_CALL_METRICS_H_

#include <memory>

#include "grpcpp/support/server_interceptor.h"
#include "server/ops/metrics.h"

namespace sandglass::server {

// What a call counts as: its own name, or "/unknown/unknown" for a method that
// there is none of, which a client can make up without end.
const char* MeteredMethod(const char* method);

// Has `metrics`, which outlives the server, told of every call that ends.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeCallMetrics(Metrics& metrics);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_CALL_METRICS_H_
