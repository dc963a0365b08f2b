#ifndef SANDGLASS_GATEWAY_CONNECT_QUERY_H_
#define SANDGLASS_GATEWAY_CONNECT_QUERY_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandglass::gateway {

// The parameters of a query ("a=1&b=%20x"), decoded: "%" and two hexadecimal
// digits are a byte, "+" is a space. INVALID_ARGUMENT for another "%", and for
// a name that is there twice. A parameter without "=" is empty.
absl::StatusOr<std::map<std::string, std::string>> ReadQuery(
    std::string_view query);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_QUERY_H_
