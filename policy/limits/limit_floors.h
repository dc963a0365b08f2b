#ifndef SANDGLASS_POLICY_LIMITS_LIMIT_FLOORS_H_
#define SANDGLASS_POLICY_LIMITS_LIMIT_FLOORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "policy/limits/limits.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// The lowest values with which something works, for the limits that it names;
// in the field's unit (see LimitField), each kind at most once.
using LimitFloors = std::vector<std::pair<LimitKind, uint64_t>>;

// Reads an object of limits. Limits whose keys it lacks aren't changed.
void ReadLimits(JsonObject object, Limits& limits);
// Reads an object of limits as those values that it names.
LimitFloors ReadLimitFloors(JsonObject object);

// Raises each limit that is lower than its floor.
void RaiseTo(const LimitFloors& floors, Limits& limits);
// The higher value of each limit.
Limits HigherOf(const Limits& a, const Limits& b);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIMITS_LIMIT_FLOORS_H_
