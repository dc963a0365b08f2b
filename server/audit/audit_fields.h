#ifndef SANDGLASS_SERVER_AUDIT_AUDIT_FIELDS_H_
#define SANDGLASS_SERVER_AUDIT_AUDIT_FIELDS_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/repeated_field.h"
#include "nlohmann/json.hpp"
#include "policy/limits/limits.h"
#include "sandglass/v1/run.pb.h"
#include "sandglass/v1/verdict.pb.h"

namespace sandglass::server {

// Parts of the audit log's lines that several events have in common.

// Times are in µs. Limits that are infinite are left out.
nlohmann::ordered_json AuditLimits(const policy::Limits& limits);

// Adds "outcome" and "rule", "exit_code" or "signal", and "usage". `end` is a
// v1::RunCodeResponse or a v1::ExecEnd.
template <typename End>
void AddAuditEnd(const End& end, nlohmann::ordered_json& fields);

void AddAuditRedactions(
    const google::protobuf::RepeatedPtrField<v1::Redaction>& redactions,
    nlohmann::ordered_json& fields);

// Adds "error", "reason" and "message".
void AddAuditError(const absl::Status& status, nlohmann::ordered_json& fields);

std::string AuditOutcome(v1::Outcome outcome);
nlohmann::ordered_json AuditUsage(const v1::Usage& usage);
nlohmann::ordered_json AuditNetwork(const v1::NetworkUse& network);

// Adds "network" if the program had one. `end` is of the same types as above.
template <typename End>
void AddAuditNetwork(const End& end, nlohmann::ordered_json& fields) {
  if (end.has_network()) fields["network"] = AuditNetwork(end.network());
}

template <typename End>
void AddAuditEnd(const End& end, nlohmann::ordered_json& fields) {
  fields["outcome"] = AuditOutcome(end.outcome());
  fields["rule"] = end.evidence().rule();
  if (end.has_exit_code()) fields["exit_code"] = end.exit_code();
  if (end.has_signal()) fields["signal"] = end.signal().name();
  fields["usage"] = AuditUsage(end.usage());
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_AUDIT_AUDIT_FIELDS_H_
