#include "server/exec/exec_audit.h"

#include <algorithm>
#include <map>
#include <string>

#include "policy/audit/audit_chain.h"
#include "sandbox/wire/jail_layout.h"
#include "server/audit/audit_fields.h"
#include "server/run/run_inputs.h"

namespace sandglass::server {
namespace {

using Json = nlohmann::ordered_json;

void AddCommand(const v1::ExecSpec& spec, bool with_text, Json& fields) {
  // What is hashed is the text for the shell, or each argument with a NUL.
  std::string bytes = spec.argv().empty() ? spec.command() : "";
  for (const std::string& argument : spec.argv()) {
    bytes.append(argument);
    bytes.push_back('\0');
  }
  fields["code_sha256"] = policy::AuditHash(bytes);
  fields["code_bytes"] = bytes.size();
  if (!spec.argv().empty()) fields["args"] = spec.argv_size() - 1;
  if (!with_text) return;
  std::replace(bytes.begin(), bytes.end(), '\0', '\n');
  fields["code"] = ShortenedText(bytes);
}

}  // namespace

ExecRecord::ExecRecord(const AuditTrail& audit, const std::string& caller,
                       const Session& session, const v1::ExecSpec& spec,
                       const ExecPlan& plan)
    : accepted_(Now()) {
  if (plan.named) fields_["exec_id"] = plan.exec_id;
  fields_["caller"] = caller;
  if (!plan.trace_id.empty()) fields_["trace_id"] = plan.trace_id;
  if (session.spec().language != nullptr) {
    fields_["lang"] = session.spec().language->id;
  }
  fields_["profile"] = session.spec().profile->name;
  fields_["session_id"] = session.id();
  AddCommand(spec, audit.keeps_code(), fields_);
  if (plan.process.directory != sandbox::kWorkspace) {
    fields_["directory"] = plan.process.directory;
  }
  const std::map<std::string, std::string> env(spec.env().begin(),
                                               spec.env().end());
  for (const auto& [name, value] : env) fields_["env"].push_back(name);
  if (!plan.stdin_data.empty()) {
    fields_["stdin_sha256"] = policy::AuditHash(plan.stdin_data);
    fields_["stdin_bytes"] = plan.stdin_data.size();
  }
  if (plan.open_stdin) fields_["open_stdin"] = true;
  if (plan.on_terminal()) fields_["terminal"] = true;
  if (plan.background) fields_["background"] = true;
  fields_["limits"] = AuditLimits(plan.limits);
}

absl::Status ExecRecord::Write(AuditTrail& audit, const absl::Status& failure,
                               const v1::ExecEnd& end) const {
  Json fields = fields_;
  if (!failure.ok()) {
    AddAuditError(failure, fields);
  } else {
    AddAuditEnd(end, fields);
    fields["stdout_bytes"] = end.stdout_bytes();
    fields["stderr_bytes"] = end.stderr_bytes();
    AddAuditNetwork(end, fields);
    AddAuditRedactions(end.redactions(), fields);
  }
  fields["total_us"] = absl::ToInt64Microseconds(Since(accepted_));
  return audit.WriteEvent("exec", fields, fields_.value("exec_id", ""));
}

}  // namespace sandglass::server
