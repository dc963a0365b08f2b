#ifndef SANDGLASS_GATEWAY_CONNECT_METHODS_H_
#define SANDGLASS_GATEWAY_CONNECT_METHODS_H_

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace sandglass::gateway {

// One method of sandglass.v1, as its .proto file has it.
struct Method {
  std::string path;  // "/sandglass.v1.SandboxService/RunCode"
  const google::protobuf::MethodDescriptor* descriptor = nullptr;
  const google::protobuf::Descriptor* request = nullptr;
  const google::protobuf::Descriptor* response = nullptr;
  bool client_streams = false;
  bool server_streams = false;
  // By the option idempotency_level of its .proto file, the one place where
  // this is said. Only such methods may be called by HTTP's GET.
  bool no_side_effects = false;

  bool unary() const { return !client_streams && !server_streams; }
};

// All methods of all services of sandglass.v1, in the order of their files.
const std::vector<Method>& ApiMethods();

// The method with this path, which has to be spelled exactly so; null when
// there is none.
const Method* FindMethod(std::string_view path);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_METHODS_H_
