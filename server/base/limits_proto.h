#ifndef SANDGLASS_SERVER_BASE_LIMITS_PROTO_H_
#define SANDGLASS_SERVER_BASE_LIMITS_PROTO_H_

#include "policy/limits/limit_floors.h"
#include "policy/limits/limits.h"
#include "sandglass/v1/limits.pb.h"

namespace sandglass::server {

// Limits in the form that the API shows.
v1::Limits ToProto(const policy::Limits& limits);
// Sets only the fields that `floors` names.
v1::Limits ToProto(const policy::LimitFloors& floors);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_LIMITS_PROTO_H_
