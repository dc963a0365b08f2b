#include "server/run/run_audit.h"

#include <string>

#include "nlohmann/json.hpp"
#include "policy/audit/audit_chain.h"
#include "policy/rules/rules.h"
#include "server/audit/audit_fields.h"
#include "server/session/session.h"

namespace sandglass::server {
namespace {

using Json = nlohmann::ordered_json;

void AddOrigin(const Run& run, Json& fields) {
  const RunOrigin& origin = run.origin();
  fields["run_id"] = run.id();
  fields["caller"] = origin.caller.name;
  if (!origin.caller.trace_id.empty()) {
    fields["trace_id"] = origin.caller.trace_id;
  }
  fields["lang"] = origin.language;
  fields["profile"] = origin.profile;
  if (const auto& session = origin.session; session != nullptr) {
    fields["session_id"] = session->id();
    if (!run.context().empty()) fields["context"] = run.context();
  }
  if (!origin.request_id.empty()) fields["request_id"] = origin.request_id;
  if (!origin.labels.empty()) fields["labels"] = origin.labels;
}

void AddInputs(const RunInputs& inputs, Json& fields) {
  fields["code_sha256"] = inputs.code_sha256;
  fields["code_bytes"] = inputs.code_bytes;
  if (!inputs.code.empty()) fields["code"] = inputs.code;
  if (inputs.args > 0) fields["args"] = inputs.args;
  if (!inputs.env.empty()) fields["env"] = inputs.env;
  for (const RunInputs::File& file : inputs.files) {
    fields["files"].push_back(
        {{"path", file.path}, {"sha256", file.sha256}, {"bytes", file.bytes}});
  }
  if (inputs.stdin_bytes > 0) {
    fields["stdin_sha256"] = inputs.stdin_sha256;
    fields["stdin_bytes"] = inputs.stdin_bytes;
  }
}

Json FindingOf(const v1::Finding& finding) {
  Json json = {{"rule", finding.rule_id()},
               {"severity", policy::SeverityName(static_cast<policy::Severity>(
                                finding.severity()))}};
  if (!finding.subject().empty()) json["subject"] = finding.subject();
  if (finding.line() > 0) {
    json["path"] = finding.path();
    json["line"] = finding.line();
  }
  return json;
}

void AddAnswer(const v1::RunCodeResponse& response, Json& fields) {
  AddAuditEnd(response, fields);
  // There is none when a compile was taken from the cache.
  if (response.compile().has_usage()) {
    fields["compile_usage"] = AuditUsage(response.compile().usage());
  }
  fields["stdout_bytes"] = response.stdout().total_bytes();
  fields["stderr_bytes"] = response.stderr().total_bytes();
  for (const v1::Finding& finding : response.findings()) {
    fields["findings"].push_back(FindingOf(finding));
  }
  if (response.findings_dropped() > 0) {
    fields["findings_dropped"] = response.findings_dropped();
  }
  if (response.has_approval()) {
    fields["approval_id"] = response.approval().approval_id();
  }
  if (response.has_approved()) {
    fields["approval_id"] = response.approved().approval_id();
    fields["approver"] = response.approved().approver();
    if (response.approved().for_session()) fields["for_session"] = true;
  }
  if (response.has_libraries()) {
    const v1::LibrariesUsed& used = response.libraries();
    fields["libraries"] = {
        {"layer_id", used.layer_id()},
        {"names", Json(std::vector<std::string>(used.libraries().begin(),
                                                used.libraries().end()))},
        {"installed", used.installed()}};
  }
  AddAuditNetwork(response, fields);
  AddAuditRedactions(response.redactions(), fields);
}

}  // namespace

void RunAudit::Begin(Run& run) const {
  std::string& members = run.mutable_audit_members();
  if (!members.empty()) return;
  AddDigests(run.job(), trail_.keeps_code(), run.mutable_inputs());
  Json fields = Json::object();
  AddOrigin(run, fields);
  AddInputs(run.mutable_inputs(), fields);
  fields["limits"] = AuditLimits(run.job().limits);
  if (run.job().compile) {
    fields["compile_limits"] = AuditLimits(run.job().compile->limits);
  }
  // None of these keys is one that the line has itself.
  members = policy::AuditMembers(fields).value_or("");
}

absl::Status RunAudit::WriteApproval(const std::string& event,
                                     const v1::Approval& approval) {
  Json fields = {{"approval_id", approval.approval_id()},
                 {"caller", approval.caller()},
                 {"lang", approval.language()},
                 {"profile", approval.profile()}};
  if (!approval.session_id().empty()) {
    fields["session_id"] = approval.session_id();
  }
  fields["code_sha256"] = approval.code_sha256();
  for (const v1::Finding& finding : approval.findings()) {
    fields["findings"].push_back(FindingOf(finding));
  }
  if (!approval.approver().empty()) fields["approver"] = approval.approver();
  if (!approval.comment().empty()) fields["comment"] = approval.comment();
  return trail_.WriteEvent(event, fields, approval.approval_id());
}

absl::Status RunAudit::Write(Run& run, const RunEnd& end, absl::Duration queued,
                             absl::Duration total) {
  // Of a program that was only looked at nothing has run.
  const char* event = IsLookAlone(run.job().target) ? "policy_test" : "run";
  Begin(run);
  Json fields = Json::object();
  if (end.status.ok()) {
    AddAnswer(*end.response, fields);
  } else {
    AddAuditError(end.status, fields);
  }
  fields["queue_us"] = absl::ToInt64Microseconds(queued);
  fields["total_us"] = absl::ToInt64Microseconds(total);
  return trail_.WriteEvent(event, fields, run.id(),
                           run.mutable_audit_members());
}

}  // namespace sandglass::server
