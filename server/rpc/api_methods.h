#ifndef SANDGLASS_SERVER_RPC_API_METHODS_H_
#define SANDGLASS_SERVER_RPC_API_METHODS_H_

#include <string>

namespace sandglass::server {

// Whether the API has a method of this name, for example
// "sandglass.v1.SandboxService.RunCode". Linking this function is also what
// makes server reflection describe the services.
bool IsApiMethod(const std::string& name);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_API_METHODS_H_
