#ifndef SANDGLASS_SERVER_RPC_TRACE_CONTEXT_H_
#define SANDGLASS_SERVER_RPC_TRACE_CONTEXT_H_

#include <string>
#include <string_view>

#include "grpcpp/server_context.h"

namespace sandglass::server {

// The trace that a call is part of, by its metadata "traceparent" as W3C Trace
// Context (https://www.w3.org/TR/trace-context/, 3.2) has it: the trace id, 32
// hexadecimal digits in lower case. Empty without one, with several, and with
// one that isn't well-formed, which is as if there were none.
std::string TraceIdOf(const grpc::ServerContextBase& context);

// That of one header's value: "00-" trace id "-" parent id "-" flags. Of a
// version that isn't known yet what follows these may be anything.
std::string ParseTraceparent(std::string_view value);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_TRACE_CONTEXT_H_
