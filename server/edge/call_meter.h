#ifndef SANDGLASS_SERVER_EDGE_CALL_METER_H_
#define SANDGLASS_SERVER_EDGE_CALL_METER_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "grpcpp/support/server_interceptor.h"
#include "server/edge/open_calls.h"

namespace sandglass::server {

// The name under which a call is counted: its own, or "/unknown/unknown" for a
// method that doesn't exist, since a client can make up such names without end.
const char* MeteredMethod(const char* method);

// Hears of each call that ends: its metered method, its gRPC status code, and
// how long it took. Called on gRPC's threads.
using CallRecorder =
    std::function<void(const char* method, int code, absl::Duration took)>;

// Makes an interceptor that tells `record` of every call that ends, and
// `calls`, which may be null and must outlive the server, of when they begin
// and end.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeCallMeter(CallRecorder record, OpenCalls* calls);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_CALL_METER_H_
