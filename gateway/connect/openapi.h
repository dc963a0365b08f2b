#ifndef SANDGLASS_GATEWAY_CONNECT_OPENAPI_H_
#define SANDGLASS_GATEWAY_CONNECT_OPENAPI_H_

#include <string>

namespace sandglass::gateway {

// The OpenAPI 3.1 document of sandglass.v1 by Connect, as JSON: each method,
// each message and enum that they reach, with the comments of the .proto files
// as descriptions. It takes some milliseconds to make and is always the same,
// so whoever serves it keeps it.
std::string MakeOpenApi();

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_OPENAPI_H_
