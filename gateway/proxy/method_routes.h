#ifndef SANDGLASS_GATEWAY_PROXY_METHOD_ROUTES_H_
#define SANDGLASS_GATEWAY_PROXY_METHOD_ROUTES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "google/protobuf/descriptor.h"

namespace sandglass::gateway {

// Which node a call is for, where its request names nothing that a node has
// already (a session, a run, an approval).
enum class Route : uint8_t {
  kRun,       // one that has what a program needs, and room for it
  kSession,   // one that has what a session needs, and room for it
  kNamesake,  // the same for all that ask for a session with the same labels
  kAny,       // whichever node there is
  kEvery,     // all of them; their answers are put together
  kNamed,     // none: the request has to name something
};

// A method of sandglass.v1 as the gateway passes it on.
struct MethodRoute {
  std::string path;  // as gRPC has it
  const google::protobuf::MethodDescriptor* method = nullptr;
  Route route = Route::kNamed;
};

// Whether what such a call makes stays at its node.
inline bool Stays(Route route) {
  return route == Route::kSession || route == Route::kNamesake;
}

// All methods that the gateway doesn't answer by itself, by their paths.
using RouteTable = std::map<std::string, MethodRoute, std::less<>>;
const RouteTable& AllRoutes();

// By what gRPC calls it, for example "/sandglass.v1.SandboxService/RunCode".
// Null: there is no such method, or the gateway answers it by itself.
const MethodRoute* FindRoute(std::string_view path);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_METHOD_ROUTES_H_
