#ifndef SANDGLASS_SERVER_RUN_RUN_AUDIT_H_
#define SANDGLASS_SERVER_RUN_RUN_AUDIT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandglass/v1/policy.pb.h"
#include "server/audit/audit_trail.h"
#include "server/run/approvals.h"
#include "server/run/run.h"

namespace sandglass::server {

// Writes runs, and what becomes of approvals, into the audit log. Thread-safe.
class RunAudit final : public ApprovalRecorder {
 public:
  // `trail` must outlive this object.
  explicit RunAudit(AuditTrail& trail) : trail_(trail) {}

  AuditTrail& trail() { return trail_; }

  // Looks at the run's inputs and begins its line. To be called by the thread
  // that owns the run, before it releases the inputs; otherwise Write does it.
  // Later calls do nothing.
  void Begin(Run& run) const;

  // Writes the line of a run that has ended, however it ended. If this fails,
  // the run's answer must be this error instead ("AUDIT_UNWRITABLE").
  absl::Status Write(Run& run, const RunEnd& end, absl::Duration queued,
                     absl::Duration total);

  absl::Status WriteApproval(const std::string& event,
                             const v1::Approval& approval) override;

 private:
  AuditTrail& trail_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_AUDIT_H_
