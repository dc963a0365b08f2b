#include "server/session/session_audit.h"

#include "nlohmann/json.hpp"
#include "server/audit/audit_fields.h"

namespace sandglass::server {

absl::Status RecordCreation(AuditTrail& audit, const std::string& caller,
                            const Session& session) {
  const SessionSpec& spec = session.spec();
  nlohmann::ordered_json fields = {{"session_id", session.id()},
                                   {"caller", caller}};
  if (spec.language != nullptr) fields["lang"] = spec.language->id;
  fields["profile"] = spec.profile->name;
  if (!spec.labels.empty()) fields["labels"] = spec.labels;
  for (const auto& [name, value] : spec.env) fields["env"].push_back(name);
  if (!spec.forked_from.empty()) fields["forked_from"] = spec.forked_from;
  if (spec.durable()) fields["durable"] = true;
  fields["limits"] = AuditLimits(spec.limits);
  return audit.WriteEvent("session_created", fields, session.id());
}

void RecordEnd(AuditTrail& audit, const Session& session,
               const Session::Over& over, const std::string& by) {
  nlohmann::ordered_json fields = {{"session_id", session.id()},
                                   {"caller", session.caller().name},
                                   {"reason", over.reason},
                                   {"message", over.message}};
  if (!by.empty()) fields["by"] = by;
  // The session has already ended, so an error can't hold anything back.
  audit.WriteEvent("session_ended", fields, session.id()).IgnoreError();
}

}  // namespace sandglass::server
