#ifndef SANDGLASS_GATEWAY_PROXY_PROXY_SERVICE_H_
#define SANDGLASS_GATEWAY_PROXY_PROXY_SERVICE_H_

#include "gateway/proxy/call_recorder.h"
#include "gateway/proxy/router.h"
#include "grpcpp/impl/codegen/async_generic_service.h"
#include "server/edge/peers.h"

namespace sandglass::gateway {

// Every method of sandglass.v1 that the gateway doesn't answer by itself and
// that UnaryProxy hasn't: says who calls, and passes the call on to where it
// belongs.
class ProxyService final : public grpc::CallbackGenericService {
 public:
  // All of these must outlive it.
  ProxyService(Router& router, CallRecorder& recorder,
               const server::PeerTable& peers)
      : router_(router), recorder_(recorder), peers_(peers) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  Router& router_;
  CallRecorder& recorder_;
  const server::PeerTable& peers_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_PROXY_SERVICE_H_
