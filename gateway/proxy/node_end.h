#ifndef SANDGLASS_GATEWAY_PROXY_NODE_END_H_
#define SANDGLASS_GATEWAY_PROXY_NODE_END_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "grpcpp/support/status.h"

namespace sandglass::gateway {

// Where a node refused what it has not begun with, another is asked once.
inline constexpr int kMaxTries = 2;

// What a call's end at a node means.
struct NodeEnd {
  // The connection broke; the node itself has said nothing.
  bool lost = false;
  // Another node may do it, since this one has done nothing of it.
  bool not_begun = false;
};

// `answered`: something of an answer came before. `reached`: something may have
// come to the node.
NodeEnd Judge(const grpc::Status& status, bool answered, bool reached);

// What the client is told of a call that was lost.
grpc::Status LostStatus(NodeEnd end, const std::string& node,
                        const google::protobuf::MethodDescriptor& method);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_NODE_END_H_
