#ifndef SANDGLASS_SERVER_EDGE_METHOD_ACCESS_H_
#define SANDGLASS_SERVER_EDGE_METHOD_ACCESS_H_

#include <optional>

#include "google/protobuf/descriptor.h"
#include "server/identity/credentials.h"

namespace sandglass::server {

// What the method with this request asks of its callers. Each method has a
// request of its own. nullopt when it isn't in the table: then nobody may call
// it.
std::optional<Access> AccessOf(const google::protobuf::Descriptor* request);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_METHOD_ACCESS_H_
