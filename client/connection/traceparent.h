#ifndef SANDGLASS_CLIENT_CONNECTION_TRACEPARENT_H_
#define SANDGLASS_CLIENT_CONNECTION_TRACEPARENT_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "grpcpp/support/client_interceptor.h"

namespace sandglass::client {

// Where a call belongs in a trace, as W3C Trace Context has it:
// "00-<32 hexadecimal digits>-<16>-<2>". It is sent as metadata of this name.
constexpr char kTraceparent[] = "traceparent";

// Whether a text is well-formed; also one of a later version, which may go on
// behind what is known.
bool IsTraceparent(absl::string_view text);

// $TRACEPARENT where it is well-formed, else empty.
std::string EnvironmentTraceparent();

// Gives the calls of a channel this traceparent that have none of their own.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
SendTraceparent(std::string traceparent);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_TRACEPARENT_H_
