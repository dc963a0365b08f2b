#include "server/audit/audit_fields.h"

#include "absl/time/time.h"
#include "policy/limits/limit_fields.h"
#include "policy/verdict/verdict.h"
#include "server/base/errors.h"

namespace sandglass::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxMessageBytes = 1024;

int64_t Us(const google::protobuf::Duration& duration) {
  return duration.seconds() * 1'000'000 + duration.nanos() / 1'000;
}

bool IsEndless(const policy::LimitField& field, const policy::Limits& limits) {
  switch (field.kind) {
    case policy::LimitKind::kWallTime:
      return limits.wall_time == absl::InfiniteDuration();
    case policy::LimitKind::kCpuTime:
      return limits.cpu_time == absl::InfiniteDuration();
    default:
      return field.get(limits) == ~uint64_t{0};
  }
}

}  // namespace

Json AuditLimits(const policy::Limits& limits) {
  Json json = Json::object();
  for (const policy::LimitField& field : policy::kLimitFields) {
    if (IsEndless(field, limits)) continue;
    const std::string name(policy::LimitName(field.kind));
    const uint64_t value = field.get(limits);
    if (field.unit == policy::LimitUnit::kNanoseconds) {
      json[name + "_us"] = value / 1'000;
    } else {
      json[name] = value;
    }
  }
  return json;
}

void AddAuditRedactions(
    const google::protobuf::RepeatedPtrField<v1::Redaction>& redactions,
    Json& fields) {
  for (const v1::Redaction& redaction : redactions) {
    fields["redactions"][redaction.name()] = redaction.count();
  }
}

void AddAuditError(const absl::Status& status, Json& fields) {
  fields["error"] = absl::StatusCodeToString(status.code());
  if (const std::string reason = ErrorReason(status); !reason.empty()) {
    fields["reason"] = reason;
  }
  fields["message"] = std::string(status.message().substr(0, kMaxMessageBytes));
}

std::string AuditOutcome(v1::Outcome outcome) {
  return std::string(
      policy::OutcomeName(static_cast<policy::Outcome>(outcome)));
}

Json AuditNetwork(const v1::NetworkUse& network) {
  Json json = {{"connections", network.connections()},
               {"refused", network.refused()},
               {"sent_bytes", network.sent_bytes()},
               {"received_bytes", network.received_bytes()}};
  for (const v1::NetworkRefusal& refusal : network.refusals()) {
    json["refusals"].push_back({{"target", refusal.target()},
                                {"reason", refusal.reason()},
                                {"count", refusal.count()}});
  }
  return json;
}

Json AuditUsage(const v1::Usage& usage) {
  return {{"wall_us", Us(usage.wall_time())},
          {"cpu_us", Us(usage.cpu_user_time()) + Us(usage.cpu_system_time())},
          {"peak_memory_bytes", usage.peak_memory_bytes()},
          {"peak_processes", usage.peak_processes()}};
}

}  // namespace sandglass::server
