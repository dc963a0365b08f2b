#ifndef SANDGLASS_GATEWAY_CONNECT_API_DESCRIPTORS_H_
#define SANDGLASS_GATEWAY_CONNECT_API_DESCRIPTORS_H_

#include <string_view>

namespace sandglass::gateway {

// A serialized google.protobuf.FileDescriptorSet: the .proto files of the
// public API and those that they import, each after those that it needs, with
// their comments. The build writes its definition (gateway/CMakeLists.txt).
std::string_view ApiDescriptors();

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_API_DESCRIPTORS_H_
