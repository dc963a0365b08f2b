#ifndef SANDGLASS_CLIENT_AUDIT_AUDIT_COMMANDS_H_
#define SANDGLASS_CLIENT_AUDIT_AUDIT_COMMANDS_H_

#include <string>

#include "client/audit/audit_options.h"
#include "policy/audit/audit_verify.h"

namespace sandglass::client {

// `sandglass audit …`. Returns the exit code: kExitOk, kExitTampered, or
// kExitAuditError.
int AuditCommand(const AuditOptions& options);

// The output of verify, harmless for a terminal. `files` is the number of files
// that were read.
std::string AuditReportText(const policy::AuditReport& report, size_t files);
// The same as a JSON object on a line; docs/command-line.md describes it.
std::string AuditReportJson(const policy::AuditReport& report, size_t files);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AUDIT_AUDIT_COMMANDS_H_
