#ifndef SANDGLASS_TESTS_UNIT_GATEWAY_CONNECT_SUPPORT_H_
#define SANDGLASS_TESTS_UNIT_GATEWAY_CONNECT_SUPPORT_H_

#include <string>
#include <string_view>

#include "gateway/connect/call_head.h"
#include "gateway/connect/envelope.h"

// What the tests of gateway/connect share.
namespace sandglass::gateway {

inline constexpr char kRunPath[] = "/sandglass.v1.SandboxService/RunCode";
inline constexpr char kStreamPath[] =
    "/sandglass.v1.SandboxService/StreamRunCode";

// The value of the answer's first header with this name; empty: there is none.
inline std::string HeaderOf(const HttpAnswer& answer, const std::string& name) {
  for (const HeaderField& field : answer.headers) {
    if (field.name == name) return field.value;
  }
  return "";
}

inline std::string Enveloped(std::string_view message, uint8_t flags = 0) {
  std::string out;
  AppendEnvelope(flags, message, out);
  return out;
}

inline CallHead CallOf(const char* path, Protocol protocol, Codec codec) {
  CallHead call;
  call.method = FindMethod(path);
  call.wire = {protocol, codec};
  return call;
}

}  // namespace sandglass::gateway

#endif  // SANDGLASS_TESTS_UNIT_GATEWAY_CONNECT_SUPPORT_H_
