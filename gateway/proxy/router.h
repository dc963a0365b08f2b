#ifndef SANDGLASS_GATEWAY_PROXY_ROUTER_H_
#define SANDGLASS_GATEWAY_PROXY_ROUTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/proxy/method_routes.h"
#include "gateway/proxy/routing_fields.h"
#include "grpcpp/channel.h"
#include "server/identity/identity.h"

namespace sandglass::gateway {

// A call's stay at a node: from when it is sent there until it has ended, which
// is when this object is destroyed. What it takes there counts meanwhile.
class Visit {
 public:
  virtual ~Visit() = default;
  virtual const std::string& node() const = 0;
  virtual const std::shared_ptr<grpc::Channel>& channel() const = 0;
  // What the call has made stays at the node, as a session does: the node's own
  // next report counts it.
  virtual void Keep() = 0;
};

// Finds nodes for calls. Thread-safe; nothing blocks.
class Router {
 public:
  virtual ~Router() = default;

  // Where a request with these fields goes, but to none of `tried`. The errors
  // are for the caller as they are; UNAVAILABLE where the node that has what
  // the request names isn't there.
  virtual absl::StatusOr<std::unique_ptr<Visit>> Find(
      Route route, const RoutingFields& fields, const server::Identity& caller,
      const std::vector<std::string>& tried) = 0;
  // All nodes that are there, in the order of their names.
  virtual std::vector<std::unique_ptr<Visit>> All() = 0;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_ROUTER_H_
