#ifndef SANDGLASS_SERVER_RUN_APPROVALS_H_
#define SANDGLASS_SERVER_RUN_APPROVALS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/profile/profile.h"
#include "sandglass/v1/policy.pb.h"
#include "server/base/clock.h"
#include "server/identity/identity.h"
#include "server/job/inspection.h"
#include "server/run/run_inputs.h"

namespace sandglass::server {

struct ApprovalOptions {
  // The last quarter of each of these bounds is for callers that have few
  // approvals, see Shares; for max_kept there is a further quarter on top
  // instead.
  uint32_t max_pending = 1000;
  uint32_t max_pending_per_caller = 100;
  // This counts answered ones, too, which are kept for a while.
  uint32_t max_kept = 10000;
  // Bytes of the programs' texts that are kept for approvers to read.
  uint64_t max_bytes = uint64_t{64} << 20;
};

// What an approval is for. With other code, other limits, another profile or
// another caller it is another run.
struct ApprovalSubject {
  std::string fingerprint;  // of the whole run, once an approval is wanted
  // The request without its ids and labels, and without contents, whose
  // checksums are in RunInputs.
  std::string request;
  Identity caller;
  absl::Duration expires_after;
  // Everything that a person is shown; the table fills in id, state and times.
  v1::Approval shown;
};

// What a request says about its run, for an approver; the run's language,
// profile and limits follow from the policy. Afterwards `request` is as it was
// before.
ApprovalSubject AskedAbout(const Identity& caller, v1::RunCodeRequest& request);

// A digest of everything that makes up a run: its request without the ids and
// labels, its caller, its limits and its profile. Precondition: `inputs` has
// its checksums.
std::string FingerprintOfRun(const ApprovalSubject& subject,
                             const RunInputs& inputs, const v1::Limits& limits,
                             const policy::Profile& profile);

// Puts on record what happens to approvals. Thread-safe.
class ApprovalRecorder {
 public:
  virtual ~ApprovalRecorder() = default;
  // `event` is "approval_asked", "approval_given", "approval_denied" or
  // "approval_used"; the approval is as it is then. If this returns an error,
  // the event must not happen.
  virtual absl::Status WriteApproval(const std::string& event,
                                     const v1::Approval& approval) = 0;
};

// The runs that wait for a person, and what was answered. The table is only in
// memory: with the daemon it ends, and so does every approval. Thread-safe.
class ApprovalTable {
 public:
  using Clock = std::function<MonotonicTime()>;
  // `recorder` outlives the table. Null: nothing is put on record.
  ApprovalTable(ApprovalOptions options, ApprovalRecorder* recorder,
                Clock clock = &Now);

  // Notes that a run waits. If the same run waits already, it has the same
  // approval. RESOURCE_EXHAUSTED when too many wait.
  absl::StatusOr<v1::ApprovalNeeded> Ask(const ApprovalSubject& subject)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Checks whether the approval can be used for this run; an error says why it
  // can't. The approval stays as it is.
  absl::Status Check(const std::string& approval_id, const Identity& caller,
                     const std::string& fingerprint)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Checks the same and uses the approval up. Of several callers at the same
  // time, only one gets it.
  absl::StatusOr<v1::Approval> Use(const std::string& approval_id,
                                   const Identity& caller,
                                   const std::string& fingerprint)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns who said that a rule no longer needs approval in a session.
  std::optional<ApprovedBy> ApprovedForSession(const std::string& session_id,
                                               const std::string& rule) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  v1::ListApprovalsResponse List(const Identity& caller,
                                 const v1::ListApprovalsRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::Approval> Get(const Identity& caller,
                                   const std::string& approval_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::Approval> Approve(const Identity& caller,
                                       const v1::ApproveRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::Approval> Deny(const Identity& caller,
                                    const v1::DenyRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the caller may answer for some others: those of its tenant.
  bool IsApprover(const Identity& caller) const;

 private:
  static bool MayAnswerFor(const Identity& caller, const Identity& owner);

  struct Entry {
    std::string fingerprint;
    Identity caller;
    MonotonicTime expires;
    v1::Approval shown;
  };

  // Marks approvals that have expired, and drops those that ended long ago.
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops an approval of that caller that can no longer be used; returns false
  // when there is none.
  bool DropEnded(const std::string& caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finds an approval that the caller may see. NOT_FOUND otherwise.
  absl::StatusOr<Entry*> Find(const Identity& caller,
                              const std::string& approval_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finds an approval that the caller can use for that run; errors as Check.
  absl::StatusOr<Entry*> FindUsable(const std::string& approval_id,
                                    const Identity& caller,
                                    const std::string& fingerprint)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<v1::Approval> Answer(Entry& entry, v1::ApprovalState state,
                                      v1::Approval answered, const char* event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Record(const char* event, const v1::Approval& approval) const;

  const ApprovalOptions options_;
  ApprovalRecorder* const recorder_;
  const Clock clock_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by id
  // By session, then by rule.
  std::map<std::string, std::map<std::string, ApprovedBy>> session_rules_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_APPROVALS_H_
