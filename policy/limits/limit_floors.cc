#include "policy/limits/limit_floors.h"

#include <algorithm>

#include "policy/limits/limit_fields.h"

namespace sandglass::policy {
namespace {

uint64_t ReadLimit(JsonObject& object, const LimitField& field,
                   uint64_t fallback) {
  const std::string_view name = LimitName(field.kind);
  switch (field.unit) {
    case LimitUnit::kNanoseconds: {
      const DurationRange range{absl::Nanoseconds(field.min),
                                absl::Nanoseconds(field.max)};
      const absl::Duration duration =
          object.Duration(name, range, absl::Nanoseconds(fallback));
      return static_cast<uint64_t>(
          std::max<int64_t>(0, absl::ToInt64Nanoseconds(duration)));
    }
    case LimitUnit::kBytes:
      return object.ByteSize(name, {field.min, field.max}, fallback);
    case LimitUnit::kCount:
      break;
  }
  return object.Unsigned(name, {field.min, field.max}, fallback);
}

}  // namespace

void ReadLimits(JsonObject object, Limits& limits) {
  for (const LimitField& field : kLimitFields) {
    field.set(limits, ReadLimit(object, field, field.get(limits)));
  }
}

LimitFloors ReadLimitFloors(JsonObject object) {
  LimitFloors floors;
  for (const LimitField& field : kLimitFields) {
    if (!object.Has(LimitName(field.kind))) continue;
    floors.emplace_back(field.kind, ReadLimit(object, field, field.min));
  }
  return floors;
}

void RaiseTo(const LimitFloors& floors, Limits& limits) {
  for (const auto& [kind, min] : floors) {
    const LimitField& field = FieldOf(kind);
    field.set(limits, std::max(field.get(limits), min));
  }
}

Limits HigherOf(const Limits& a, const Limits& b) {
  Limits higher = a;
  for (const LimitField& field : kLimitFields) {
    field.set(higher, std::max(field.get(a), field.get(b)));
  }
  return higher;
}

}  // namespace sandglass::policy
