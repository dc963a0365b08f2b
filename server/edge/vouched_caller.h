#ifndef SANDGLASS_SERVER_EDGE_VOUCHED_CALLER_H_
#define SANDGLASS_SERVER_EDGE_VOUCHED_CALLER_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// The metadata in which a gateway tells a node who sent a call: a serialized
// sandglass.node.v1.Caller.
inline constexpr char kCallerMetadata[] = "sandglass-caller-bin";

std::string ToCallerMetadata(const Identity& caller);
// nullopt for what no gateway sends: what isn't such a message, or names nobody
// that there can be, as an account of a machine.
std::optional<Identity> FromCallerMetadata(absl::string_view value);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_VOUCHED_CALLER_H_
