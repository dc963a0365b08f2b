#ifndef SANDGLASS_GATEWAY_CONNECT_CODES_H_
#define SANDGLASS_GATEWAY_CONNECT_CODES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sandglass::gateway {

// How a call ended, with all that gRPC says of it.
struct CallStatus {
  int code = 0;  // a value of grpc::StatusCode; 0 is success
  std::string message;
  // A serialized google.rpc.Status, which is what gRPC's metadata
  // grpc-status-details-bin holds. Empty: there are no details.
  std::string details;

  bool ok() const { return code == 0; }
};

// The same for an error that the gateway itself has made.
CallStatus ToCallStatus(const absl::Status& status);

// Connect's name for a code, for example "invalid_argument". A number that gRPC
// doesn't have is "unknown", as Connect asks for; 0 has no name of its own and
// is "unknown", too.
std::string_view CodeName(int code);

// The status of HTTP that Connect's table gives for a code. 200 for 0.
int HttpStatusOf(int code);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_CODES_H_
