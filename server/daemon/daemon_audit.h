#ifndef SANDGLASS_SERVER_DAEMON_DAEMON_AUDIT_H_
#define SANDGLASS_SERVER_DAEMON_DAEMON_AUDIT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/audit/audit_log.h"
#include "server/audit/audit_trail.h"
#include "server/daemon/config.h"
#include "server/identity/credentials.h"
#include "server/live_policy/policy_reload.h"
#include "server/live_policy/policy_set.h"
#include "server/ops/readiness_watch.h"
#include "server/run/run_audit.h"

namespace sandglass::server {

// The daemon's audit log, in which it also records its own start and stop.
class DaemonAudit final : public AuditHealth {
 public:
  // Opens the log and writes "start": version, pid, uid, the SHA-256 of the
  // configuration in the form of ConfigToJson, and that of the policy. Starts a
  // thread. Returns null when `directory` is empty, which it is when the
  // configuration names none.
  static absl::StatusOr<std::unique_ptr<DaemonAudit>> Start(
      os::Fd directory, const Config& config, const PolicySet& policy);

  AuditLog& log() { return *log_; }
  AuditTrail& trail() { return trail_; }
  RunAudit& runs() { return runs_; }

  absl::Status Healthy() override {
    if (log_->SyncTime() > kSlowDisk) {
      return absl::UnavailableError(absl::StrCat(
          "the audit log's disk has been at one sync for more than ",
          absl::FormatDuration(kSlowDisk)));
    }
    log_->Ready().IgnoreError();
    return trail_.Ready(std::chrono::milliseconds(100));
  }

  // Writes "policy": another one is about to come into force. On an error it
  // must not come into force, if runs would be refused.
  absl::Status RecordPolicy(const PolicySet& policy,
                            const PolicyChanges& changes);

  // Writes "policy_refused": a policy could not be put into force, and the old
  // one stays.
  void RecordRefusedPolicy(const absl::Status& why);

  // Writes "caller_refused", of callers that are known at most ten times a
  // second, of strangers six times a minute; the next such line says how many
  // were left out.
  void RecordRefusal(Refusal refusal, const Identity& identity)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status RecordToken(const char* event, const Token& token,
                           const Identity& by);

  // Writes "stop". Best called when no run is left.
  void Stop(const std::string& reason);

 private:
  static constexpr absl::Duration kSlowDisk = absl::Seconds(10);

  DaemonAudit(std::unique_ptr<AuditLog> log, const AuditTrailOptions& options)
      : log_(std::move(log)), trail_(*log_, options), runs_(trail_) {}

  const std::unique_ptr<AuditLog> log_;
  AuditTrail trail_;
  RunAudit runs_;
  absl::Mutex mutex_;
  struct Lines {
    MonotonicTime began;
    int written = 0;
    uint64_t left_out = 0;
  };
  Lines of_known_ ABSL_GUARDED_BY(mutex_);
  Lines of_strangers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DAEMON_AUDIT_H_
