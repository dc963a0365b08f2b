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
                    const std::string& fingerprint);

  absl::StatusOr<std::optional<ApprovedBy>> Approve(
      const policy::Findings& findings) override;

 private:
  // Who approved, in this session, each finding that wants it.
  std::optional<ApprovedBy> ApprovedBefore(
      const policy::Findings& findings) const;

  ApprovalTable& approvals_;
  const std::shared_ptr<const ApprovalSubject> subject_;
  std::string approval_id_;  // empty: the request named none
  std::string fingerprint_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_APPROVAL_OF_RUN_H_
