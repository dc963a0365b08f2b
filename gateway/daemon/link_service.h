#ifndef SANDGLASS_GATEWAY_DAEMON_LINK_SERVICE_H_
#define SANDGLASS_GATEWAY_DAEMON_LINK_SERVICE_H_

#include <memory>
#include <string>

#include "gateway/ports/port_link.h"
#include "grpcpp/impl/codegen/service_type.h"
#include "server/edge/peers.h"

namespace sandglass::gateway {

// Where browsers find what links lead to.
struct LinkPlaces {
  std::string url;     // of the gateway, without a slash at its end
  std::string domain;  // of programs; empty: they have no hosts
};

// PortService's CreateLink. `links` may be null: then there are none. What is
// passed by reference or pointer outlives the service.
std::unique_ptr<grpc::Service> MakeLinkService(const LinkSigner* links,
                                               LinkPlaces places,
                                               const server::PeerTable& peers);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_DAEMON_LINK_SERVICE_H_
