#ifndef SANDGLASS_SERVER_RUN_RUN_AUDIT_H_
#define SANDGLASS_SERVER_RUN_RUN_AUDIT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"
#include "sandglass/v1/policy.pb.h"
#include "server/audit/audit_log.h"
#include "server/run/run.h"

namespace sandglass::server {

// What becomes of runs whose line can't be written.
enum class AuditFailure {
  kRefuse,    // they are not begun, or their answer is withheld
  kContinue,  // the daemon's own log says so, and they go on
};

struct RunAuditOptions {
  bool code = false;  // write the program's text down, too
  AuditFailure on_failure = AuditFailure::kRefuse;
};

// Writes runs into the audit log. Thread-safe.
class RunAudit {
 public:
  // The log outlives this.
  RunAudit(AuditLog& log, const RunAuditOptions& options)
      : log_(log), options_(options) {}

  // "AUDIT_UNWRITABLE" (server/base/errors.h) when no run may begin now, as it
  // was found at most so long ago.
  absl::Status Ready(std::chrono::milliseconds at_most_ago = {});

  // Looks at what a run is given, and begins its line. By the thread that owns
  // it, before it lets go of that; else Write does it. Later calls do nothing.
  void Begin(Run& run) const;

  // Writes the line of a run that has ended, whatever its end. Not OK: the
  // answer must be this error instead ("AUDIT_UNWRITABLE").
  absl::Status Write(Run& run, const RunEnd& end, absl::Duration queued,
                     absl::Duration total);

  // Writes what happened to an approval: `event` as in ApprovalRecorder. Not
  // OK, likewise: it must not happen.
  absl::Status WriteApproval(const std::string& event,
                             const v1::Approval& approval);

  // Writes another line. Not OK, likewise: what it tells must not happen, or
  // nobody hear of it. `about` is for the daemon's own log.
  absl::Status WriteEvent(const std::string& event,
                          const nlohmann::ordered_json& fields,
                          const std::string& about,
                          const std::string& first_members = {});

  // Whether programs' texts are to be in it.
  bool keeps_code() const { return options_.code; }

  // Whether a log that can't be written stops runs.
  bool refuses() const { return options_.on_failure == AuditFailure::kRefuse; }

 private:
  absl::Status Refusal(const absl::Status& cause) const;

  AuditLog& log_;
  const RunAuditOptions options_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_AUDIT_H_
