#ifndef SANDGLASS_CLIENT_BASE_LIMITS_TEXT_H_
#define SANDGLASS_CLIENT_BASE_LIMITS_TEXT_H_

#include <string>

#include "sandglass/v1/limits.pb.h"

namespace sandglass::client {

// Text such as "wall 30 s, memory 256 MiB, …" with those limits that are set.
std::string LimitsText(const v1::Limits& limits);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_LIMITS_TEXT_H_
