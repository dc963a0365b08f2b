#ifndef SANDGLASS_SERVER_BASE_API_SERVICES_H_
#define SANDGLASS_SERVER_BASE_API_SERVICES_H_

#include <vector>

#include "google/protobuf/descriptor.h"

namespace sandglass::server {

// The services of sandglass.v1, of protobuf's generated pool. Whoever calls
// this has their descriptors linked, as server reflection needs them, too.
const std::vector<const google::protobuf::ServiceDescriptor*>& ApiServices();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_API_SERVICES_H_
