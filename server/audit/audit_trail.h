#ifndef SANDGLASS_SERVER_AUDIT_AUDIT_TRAIL_H_
#define SANDGLASS_SERVER_AUDIT_AUDIT_TRAIL_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "server/audit/audit_log.h"

namespace sandglass::server {

// What happens to runs, sessions and commands when the line about them can't be
// written.
enum class AuditFailure {
  kRefuse,    // they don't begin, or their answer is withheld
  kContinue,  // they go on; only the daemon's own log tells of it
};

struct AuditTrailOptions {
  bool code = false;  // also write the programs' texts into the log
  AuditFailure on_failure = AuditFailure::kRefuse;
};

// The daemon's work writes to the audit log through this class. Where the
// options say so, whatever can't be written there must not happen. Thread-safe.
class AuditTrail {
 public:
  // `log` must outlive this object.
  AuditTrail(AuditLog& log, const AuditTrailOptions& options)
      : log_(log), options_(options) {}

  // Returns "AUDIT_UNWRITABLE" (server/base/errors.h) when no run may begin
  // now. A check that was made no longer than `at_most_ago` ago counts.
  absl::Status Ready(std::chrono::milliseconds at_most_ago = {});

  // Writes a line; `fields` and `first_members` are as for AuditLog::Append.
  // When it returns an error ("AUDIT_UNWRITABLE"), what the line is about must
  // not happen, or nobody may be told of it. `about` is for the daemon's own
  // log.
  absl::Status WriteEvent(const std::string& event,
                          const nlohmann::ordered_json& fields,
                          const std::string& about,
                          const std::string& first_members = {});

  // Whether the log is to contain the programs' texts.
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
