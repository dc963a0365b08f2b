#ifndef SANDGLASS_SERVER_SESSION_SESSION_AUDIT_H_
#define SANDGLASS_SERVER_SESSION_SESSION_AUDIT_H_

#include <string>

#include "absl/status/status.h"
#include "server/audit/audit_trail.h"
#include "server/session/session.h"

namespace sandglass::server {

// Writes that a session was made. On an error the session must not stay.
absl::Status RecordCreation(AuditTrail& audit, const std::string& caller,
                            const Session& session);

// Writes that a session has ended and, if somebody asked for it, who. The
// session ends in any case; if the line can't be written, the daemon's own log
// says so.
void RecordEnd(AuditTrail& audit, const Session& session,
               const Session::Over& over, const std::string& by);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_AUDIT_H_
