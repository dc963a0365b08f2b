#ifndef SANDGLASS_SERVER_RUN_APPROVAL_OF_RUN_H_
#define SANDGLASS_SERVER_RUN_APPROVAL_OF_RUN_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/rules/rules.h"
#include "server/job/inspection.h"
#include "server/run/approvals.h"

namespace sandglass::server {

// Approves one run by what the table has: an approval of its rules for the
// whole session, else the approval that its request named. No other code uses
// approvals up.
class ApprovalOfRun final : public RunApprover {
 public:
  // `approvals` outlives it.
  ApprovalOfRun(ApprovalTable& approvals,
                std::shared_ptr<const ApprovalSubject> subject)
      : approvals_(approvals), subject_(std::move(subject)) {}

  // The request named this approval; `fingerprint` stands for the run. An
  // error, for the caller: it can't be used. Before the run begins.
  absl::Status Name(const std::string& approval_id,
                    const std::string& fingerprint) {
    approval_id_ = approval_id;
    fingerprint_ = fingerprint;
    return approvals_.Check(approval_id, subject_->caller, fingerprint);
  }

  absl::StatusOr<std::optional<ApprovedBy>> Approve(
      const policy::Findings& findings) override {
    std::optional<ApprovedBy> before = ApprovedBefore(findings);
    if (before || approval_id_.empty()) return before;
    const absl::StatusOr<v1::Approval> used =
        approvals_.Use(approval_id_, subject_->caller, fingerprint_);
    if (!used.ok()) return used.status();
    return ApprovedBy{approval_id_, used->approver()};
  }

 private:
  // Who approved, in this session, each finding that wants it.
  std::optional<ApprovedBy> ApprovedBefore(
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

  ApprovalTable& approvals_;
  const std::shared_ptr<const ApprovalSubject> subject_;
  std::string approval_id_;  // empty: the request named none
  std::string fingerprint_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_APPROVAL_OF_RUN_H_
