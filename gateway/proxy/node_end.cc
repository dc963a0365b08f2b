#include "gateway/proxy/node_end.h"

#include <optional>

#include "gateway/proxy/call_metadata.h"
#include "gateway/proxy/gateway_errors.h"
#include "server/edge/grpc_status.h"
#include "server/edge/method_access.h"

namespace sandglass::gateway {
namespace {

// Whether it does no harm to do the call again that a lost node may have done.
bool MayRepeat(const google::protobuf::MethodDescriptor& method) {
  const std::optional<server::Access> access =
      server::AccessOf(method.input_type());
  return access.has_value() && !access->changes;
}

}  // namespace

NodeEnd Judge(const grpc::Status& status, bool answered, bool reached) {
  NodeEnd end;
  end.lost = status.error_code() == grpc::StatusCode::UNAVAILABLE &&
             ReasonOf(status).empty();
  end.not_begun = !answered && (end.lost ? !reached : HasNotBegun(status));
  return end;
}

grpc::Status LostStatus(NodeEnd end, const std::string& node,
                        const google::protobuf::MethodDescriptor& method) {
  return server::ToGrpcStatus(
      end.not_begun ? NodeAway(node) : NodeLost(node, MayRepeat(method)));
}

}  // namespace sandglass::gateway
