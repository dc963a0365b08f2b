#ifndef SANDGLASS_CLIENT_CONNECTION_TRACEPARENT_H_
#define SANDGLASS_CLIENT_CONNECTION_TRACEPARENT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// A call's place in a trace, as defined by W3C Trace Context: "00-<32
// hexadecimal digits>-<16>-<2>". It is sent as metadata of this name.
constexpr char kTraceparent[] = "traceparent";

// Whether a text is well-formed. One of a later version may have more after the
// known parts.
bool IsTraceparent(absl::string_view text);

// $TRACEPARENT if it is well-formed, else empty.
std::string EnvironmentTraceparent();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_TRACEPARENT_H_
