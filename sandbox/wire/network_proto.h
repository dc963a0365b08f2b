#ifndef SANDGLASS_SANDBOX_WIRE_NETWORK_PROTO_H_
#define SANDGLASS_SANDBOX_WIRE_NETWORK_PROTO_H_

#include "absl/status/statusor.h"
#include "internal/egress.pb.h"
#include "policy/network/network.h"

namespace sandglass::sandbox {

internal::NetworkRules ToProto(const policy::NetworkPolicy& policy);

// INVALID_ARGUMENT: these rules don't pass policy::Check.
absl::StatusOr<policy::NetworkPolicy> FromProto(
    const internal::NetworkRules& rules);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_NETWORK_PROTO_H_
