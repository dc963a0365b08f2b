#ifndef SANDGLASS_SERVER_RPC_NODE_SERVICE_H_
#define SANDGLASS_SERVER_RPC_NODE_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "grpcpp/impl/codegen/service_type.h"
#include "sandglass/node/v1/node.pb.h"
#include "server/edge/peers.h"

namespace sandglass::server {

// Where the node service has what it tells. Called on gRPC's threads, some five
// times a second for each gateway, so none may block.
struct NodeReport {
  std::string name;
  std::function<node::v1::Offer()> offer;
  std::function<node::v1::Load()> load;
  // True: the daemon ends, and so do the streams.
  std::function<bool()> over;
};

// sandglass.node.v1.NodeService, for gateways' connections alone. `peers` must
// outlive it.
std::unique_ptr<grpc::Service> MakeNodeService(NodeReport report,
                                               const PeerTable& peers);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_NODE_SERVICE_H_
