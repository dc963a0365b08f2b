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
#include "server/identity/caller.h"
#include "server/job/inspection.h"
#include "server/run/run_inputs.h"

namespace sandglass::server {

struct ApprovalOptions {
  // Who may answer for others; root always may.
  std::set<uid_t> approvers;
  // Of these bounds the last quarter is for callers that have few of them, see
  // Shares; of max_kept a quarter more.
  uint32_t max_pending = 1000;
  uint32_t max_pending_per_caller = 100;
  // Answered ones too, which are kept for a while.
  uint32_t max_kept = 10000;
  // Of the programs' texts that are kept for approvers to read.
  uint64_t max_bytes = uint64_t{64} << 20;
};

// What an approval is for. Another code, other limits, another profile or
// another caller is another run.
struct ApprovalSubject {
  std::string fingerprint;  // of the whole run, once one is wanted
  // The request but for its ids and labels, and for contents, which RunInputs
  // has the sums of.
  std::string request;
  Caller caller;
  absl::Duration expires_after;
  // All that a person is shown; id, state and times are filled in.
  v1::Approval shown;
};

// What a request says of its run, for an approver; its language, profile and
// limits follow from the policy.
// `request` is as it was afterwards.
ApprovalSubject AskedAbout(const Caller& caller, v1::RunCodeRequest& request);

// Stands for all that a run is: its request but for the ids and labels, its
// caller, its limits and its profile. Precondition: `inputs` has its sums.
std::string FingerprintOfRun(const ApprovalSubject& subject,
                             const RunInputs& inputs, const v1::Limits& limits,
                             const policy::Profile& profile);

// An event for the audit log: "approval_asked", "approval_given",
// "approval_denied" or "approval_used", with the approval as it is then. An
// error keeps it from happening.
using ApprovalRecorder =
    std::function<absl::Status(const char* event, const v1::Approval&)>;

// The runs that wait for a person, and what was answered. In memory alone: it
// ends with the daemon, and so does every approval. Thread-safe.
class ApprovalTable {
 public:
  using Clock = std::function<MonotonicTime()>;
  // `record` may be empty.
  ApprovalTable(ApprovalOptions options, ApprovalRecorder record,
                Clock clock = &Monotonic::now);

  // Notes that a run waits. The same run that waits already has the same
  // approval. RESOURCE_EXHAUSTED when too many wait.
  absl::StatusOr<v1::ApprovalNeeded> Ask(const ApprovalSubject& subject)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the approval is there for this run: an error says what is in the
  // way. It stays as it is.
  absl::Status Check(const std::string& approval_id, const Caller& caller,
                     const std::string& fingerprint)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, and uses it up. Of several callers at once one has it.
  absl::StatusOr<v1::Approval> Use(const std::string& approval_id,
                                   const Caller& caller,
                                   const std::string& fingerprint)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Who said that a rule needs no approval any more in a session.
  std::optional<ApprovedBy> ApprovedForSession(const std::string& session_id,
                                               const std::string& rule) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  v1::ListApprovalsResponse List(const Caller& caller,
                                 const v1::ListApprovalsRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::Approval> Get(const Caller& caller,
                                   const std::string& approval_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::Approval> Approve(const Caller& caller,
                                       const v1::ApproveRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::Approval> Deny(const Caller& caller,
                                    const v1::DenyRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Forgets what was approved for a profile's runs: it isn't what it was.
  void ForgetProfile(const std::string& profile) ABSL_LOCKS_EXCLUDED(mutex_);

  bool IsApprover(const Caller& caller) const;

 private:
  struct Entry {
    std::string fingerprint;
    Caller caller;
    MonotonicTime expires;
    v1::Approval shown;
  };

  // Marks what has expired, and drops what ended long ago.
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops one of that caller that can't be used any more; false when there is
  // none.
  bool DropEnded(const std::string& caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One that the caller may see. NOT_FOUND.
  absl::StatusOr<Entry*> Find(const Caller& caller,
                              const std::string& approval_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckLocked(const std::string& approval_id, const Caller& caller,
                           const std::string& fingerprint, Entry*& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<v1::Approval> Answer(Entry& entry, v1::Approval answered,
                                      const char* event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Record(const char* event, const v1::Approval& approval) const;

  const ApprovalOptions options_;
  const ApprovalRecorder record_;
  const Clock clock_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by id
  // By session, then by rule.
  std::map<std::string, std::map<std::string, ApprovedBy>> session_rules_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_APPROVALS_H_
