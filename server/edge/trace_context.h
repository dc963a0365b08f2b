#ifndef SANDGLASS_SERVER_EDGE_TRACE_CONTEXT_H_
#define SANDGLASS_SERVER_EDGE_TRACE_CONTEXT_H_

#include <string>
#include <string_view>

#include "grpcpp/server_context.h"

namespace sandglass::server {

// The trace that a call is part of, from its metadata "traceparent" in the form
// of W3C Trace Context (https://www.w3.org/TR/trace-context/, 3.2): the trace
// id, 32 hexadecimal digits in lower case. Empty without that header, with
// several of them, and with one that isn't well-formed, which counts as none.
std::string TraceIdOf(const grpc::ServerContextBase& context);

// The trace id in one header's value: "00-" trace id "-" parent id "-" flags.
// In a version that isn't known yet, anything may follow after these.
std::string ParseTraceparent(std::string_view value);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_TRACE_CONTEXT_H_
