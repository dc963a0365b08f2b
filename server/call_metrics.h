#ifndef SANDGLASS_SERVER_CALL_METRICS_H_
#define SANDGLASS_SERVER_CALL_METRICS_H_

#include <memory>

#include "grpcpp/support/server_interceptor.h"
#include "server/metrics.h"

namespace sandglass::server {

// Has `metrics`, which outlives the server, told of every call that ends.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeCallMetrics(Metrics& metrics);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_CALL_METRICS_H_
