#include "server/audit/audit_trail.h"

#include "nlohmann/json.hpp"
#include "server/base/errors.h"
#include "server/base/log.h"

namespace sandglass::server {

absl::Status AuditTrail::Refusal(const absl::Status& cause) const {
  return AuditUnwritable(log_.path(), std::string(cause.message()));
}

absl::Status AuditTrail::Ready(std::chrono::milliseconds at_most_ago) {
  if (!refuses()) return absl::OkStatus();
  const absl::Status ready = log_.Ready(at_most_ago);
  return ready.ok() ? ready : Refusal(ready);
}

absl::Status AuditTrail::WriteEvent(const std::string& event,
                                    const nlohmann::ordered_json& fields,
                                    const std::string& about,
                                    const std::string& first_members) {
  absl::Status written = log_.Append(event, fields, first_members);
  if (written.ok()) return written;
  Log(LogLevel::kError, "audit_line_lost",
      {{"event", event},
       {"id", about},
       {"error", std::string(written.message())}});
  return refuses() ? Refusal(written) : absl::OkStatus();
}

}  // namespace sandglass::server
