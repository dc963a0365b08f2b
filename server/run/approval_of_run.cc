#include "server/run/approval_of_run.h"

namespace sandglass::server {

absl::Status ApprovalOfRun::Name(const std::string& approval_id,
                                 const std::string& fingerprint) {
  approval_id_ = approval_id;
  fingerprint_ = fingerprint;
  return approvals_.Check(approval_id, subject_->caller, fingerprint);
}

absl::StatusOr<std::optional<ApprovedBy>> ApprovalOfRun::Approve(
    const policy::Findings& findings) {
  std::optional<ApprovedBy> before = ApprovedBefore(findings);
  if (before || approval_id_.empty()) return before;
  const absl::StatusOr<v1::Approval> used =
      approvals_.Use(approval_id_, subject_->caller, fingerprint_);
  if (!used.ok()) return used.status();
  return ApprovedBy{approval_id_, used->approver()};
}

std::optional<ApprovedBy> ApprovalOfRun::ApprovedBefore(
    const policy::Findings& findings) const {
  const std::string& session = subject_->shown.session_id();
  if (session.empty() || findings.dropped > 0) return std::nullopt;
  std::optional<ApprovedBy> approved;
  for (const policy::Finding& finding : findings.list) {
    if (finding.severity < policy::Severity::kRequireApproval) continue;
    approved = approvals_.ApprovedForSession(session, finding.rule);
    if (!approved) return std::nullopt;
  }
  return approved;
}

}  // namespace sandglass::server
