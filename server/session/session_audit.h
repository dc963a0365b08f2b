#ifndef SANDGLASS_SERVER_SESSION_SESSION_AUDIT_H_
#define SANDGLASS_SERVER_SESSION_SESSION_AUDIT_H_

#include <string>

#include "absl/status/status.h"
#include "server/audit/audit_trail.h"
#include "server/session/session.h"

namespace sandglass::server {

// Writes that a session was made. Not OK: it must not stay.
absl::Status RecordCreation(AuditTrail& audit, const std::string& caller,
                            const Session& session);

// Writes that it has ended, by whom if somebody asked for it. It ends in any
// case; a line that can't be written is told of in the daemon's own log.
void RecordEnd(AuditTrail& audit, const Session& session,
               const Session::Over& over, const std::string& by);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_AUDIT_H_
