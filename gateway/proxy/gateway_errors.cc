#include "gateway/proxy/gateway_errors.h"

#include "absl/time/time.h"
#include "server/base/make_error.h"
#include "server/base/strings.h"

namespace sandglass::gateway {

using server::make_error::Code;
using server::make_error::Make;
using server::make_error::MakeRetryable;

namespace {

// By then a node that was started again is there.
constexpr absl::Duration kRetryNode = absl::Seconds(2);

}  // namespace

absl::Status NodeAway(const std::string& node) {
  return MakeRetryable(Code::kUnavailable, "NODE_AWAY", kRetryNode, "node ",
                       node,
                       " isn't there now; what it has is there again when it "
                       "comes back, as far as it keeps it on its disk");
}

absl::Status NodeLost(const std::string& node, bool may_repeat) {
  if (may_repeat) {
    return MakeRetryable(Code::kUnavailable, "NODE_LOST", kRetryNode,
                         "the connection to node ", node,
                         " broke during this call");
  }
  return Make(Code::kAborted, "NODE_LOST", "the connection to node ", node,
              " broke during this call; whether it was done isn't known, and "
              "to make it again may do it twice");
}

absl::Status NodeUnknown(const std::string& id) {
  return Make(Code::kNotFound, "NODE_UNKNOWN", server::Quoted(id, 128),
              " names no node of this gateway");
}

absl::Status NoNodes() {
  return MakeRetryable(Code::kUnavailable, "NO_NODES", kRetryNode,
                       "no node of this gateway is there now");
}

absl::Status UnknownMethod(const std::string& path) {
  return Make(Code::kUnimplemented, "UNKNOWN_METHOD", "there is no method ",
              server::Quoted(path, 128));
}

}  // namespace sandglass::gateway
