#ifndef SANDGLASS_POLICY_LIMITS_LIMIT_FIELDS_H_
#define SANDGLASS_POLICY_LIMITS_LIMIT_FIELDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/limits/limit_request.h"
#include "policy/limits/limits.h"

namespace sandglass::policy {

// The unit of a limit when its value is a plain number.
enum class LimitUnit { kNanoseconds, kBytes, kCount };

// One limit, described once for all code that treats limits alike: reading
// profiles, checks, requests, messages. Values are plain numbers in `unit`;
// durations that are too long become the highest number, and negative ones 0.
struct LimitField {
  LimitKind kind;
  LimitUnit unit;
  // The lowest and highest value that can work at all. The source has the
  // reasons.
  uint64_t min;
  uint64_t max;
  uint64_t (*get)(const Limits&);
  void (*set)(Limits&, uint64_t);
  std::optional<uint64_t> (*wish)(const LimitRequest&);
};

// In the order of LimitKind: the kind of kLimitFields[i] is i + 1.
extern const std::array<LimitField, 12> kLimitFields;

const LimitField& FieldOf(LimitKind kind);

// A value for people, in the field's unit: "30 s", "256 MiB", "64".
std::string FormatLimit(LimitUnit unit, uint64_t value);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIMITS_LIMIT_FIELDS_H_
