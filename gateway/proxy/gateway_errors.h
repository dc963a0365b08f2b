#ifndef SANDGLASS_GATEWAY_PROXY_GATEWAY_ERRORS_H_
#define SANDGLASS_GATEWAY_PROXY_GATEWAY_ERRORS_H_

#include <string>

#include "absl/status/status.h"

namespace sandglass::gateway {

// The API's errors that a gateway alone makes, as those of
// server/base/errors.h.

// UNAVAILABLE, "NODE_AWAY", with RetryInfo: the node that has what a request
// names, or to which it was sent, isn't there now. Nothing has begun.
absl::Status NodeAway(const std::string& node);
// "NODE_LOST": the connection to a node broke while it had a call. ABORTED,
// since whether it was done isn't known and doing it again may do it twice;
// UNAVAILABLE, with RetryInfo, where that does no harm.
absl::Status NodeLost(const std::string& node, bool may_repeat);
// NOT_FOUND, "NODE_UNKNOWN": the id names no node of this gateway.
absl::Status NodeUnknown(const std::string& id);
// UNAVAILABLE, "NO_NODES", with RetryInfo: no node is there at all.
absl::Status NoNodes();
// UNIMPLEMENTED, "UNKNOWN_METHOD".
absl::Status UnknownMethod(const std::string& path);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_GATEWAY_ERRORS_H_
