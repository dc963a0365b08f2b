#ifndef SANDGLASS_SERVER_AUDIT_AUDIT_TRAIL_H_
#define SANDGLASS_SERVER_AUDIT_AUDIT_TRAIL_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "server/audit/audit_log.h"

namespace sandglass::server {

// What becomes of runs, sessions and commands whose line can't be written.
enum class AuditFailure {
  kRefuse,    // they are not begun, or their answer is withheld
  kContinue,  // the daemon's own log says so, and they go on
};

struct AuditTrailOptions {
  bool code = false;  // write the programs' texts down, too
  AuditFailure on_failure = AuditFailure::kRefuse;
};

// The audit log as the daemon's work writes to it: what can't be written must
// not happen, where the options say so. Thread-safe.
class AuditTrail {
 public:
  // The log outlives this.
  AuditTrail(AuditLog& log, const AuditTrailOptions& options)
      : log_(log), options_(options) {}

  // "AUDIT_UNWRITABLE" (server/base/errors.h) when no run may begin now, as it
  // was found at most so long ago.
  absl::Status Ready(std::chrono::milliseconds at_most_ago = {});

  // Writes a line; `fields` and `first_members` as for AuditLog::Append. Not OK
  // ("AUDIT_UNWRITABLE"): what it tells must not happen, or nobody hear of it.
  // `about` is for the daemon's own log.
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
  const AuditTrailOptions options_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_AUDIT_AUDIT_TRAIL_H_
