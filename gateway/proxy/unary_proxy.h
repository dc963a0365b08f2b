#ifndef SANDGLASS_GATEWAY_PROXY_UNARY_PROXY_H_
#define SANDGLASS_GATEWAY_PROXY_UNARY_PROXY_H_

#include "gateway/proxy/call_recorder.h"
#include "gateway/proxy/router.h"
#include "server/edge/grpc_server.h"
#include "server/edge/peers.h"

namespace sandglass::gateway {

// Adds, for each service of the API, one with its methods that have one request
// and one answer and go to one node: passed on as bytes with one operation of
// gRPC in each direction, where a stream has four. What is passed must outlive
// the services.
void AddUnaryProxies(Router& router, CallRecorder& recorder,
                     const server::PeerTable& peers,
                     server::Services& services);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_UNARY_PROXY_H_
