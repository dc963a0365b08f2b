#ifndef SANDGLASS_GATEWAY_PROXY_UNARY_PROXY_H_
#define SANDGLASS_GATEWAY_PROXY_UNARY_PROXY_H_

#include <memory>

#include "gateway/proxy/call_recorder.h"
#include "gateway/proxy/router.h"
#include "grpcpp/impl/codegen/service_type.h"
#include "server/edge/peers.h"

namespace sandglass::gateway {

// The methods with one request and one answer that go to one node, whatever
// their services: passed on as bytes with one operation of gRPC in each
// direction, where a stream has four. All of these must outlive it.
std::unique_ptr<grpc::Service> MakeUnaryProxy(Router& router,
                                              CallRecorder& recorder,
                                              const server::PeerTable& peers);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_UNARY_PROXY_H_
