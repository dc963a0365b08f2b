#ifndef SANDGLASS_POLICY_LIMITS_LIMIT_FLOORS_H_
#define SANDGLASS_POLICY_LIMITS_LIMIT_FLOORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "policy/limits/limits.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// The least that something works with, for the limits that it names; in the
// field's unit (see LimitField), each kind at most once.
using LimitFloors = std::vector<std::pair<LimitKind, uint64_t>>;

// Reads one object of limits: keys that it lacks stay as they are.
void ReadLimits(JsonObject object, Limits& limits);
// The same, as what the object names.
LimitFloors ReadLimitFloors(JsonObject object);

// Raises what is lower.
void RaiseTo(const LimitFloors& floors, Limits& limits);
// The higher one of each limit.
Limits HigherOf(const Limits& a, const Limits& b);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIMITS_LIMIT_FLOORS_H_
