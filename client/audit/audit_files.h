#ifndef SANDGLASS_CLIENT_AUDIT_AUDIT_FILES_H_
#define SANDGLASS_CLIENT_AUDIT_AUDIT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/audit/audit_verify.h"

namespace sandglass::client {

// The files that a user means. A directory stands for the files of an audit log
// in it (none: an empty list), in the order of their numbers; files stay in the
// order in which they are given, unless all have such names. INVALID_ARGUMENT
// for a directory beside other paths; else what errno says.
absl::StatusOr<std::vector<std::string>> AuditFilesOf(
    const std::vector<std::string>& paths);

// Gives the content of files to a verifier, a piece at a time. Regular files
// only; the error names the file.
absl::Status ReadAuditFiles(const std::vector<std::string>& files,
                            policy::AuditVerifier& verifier);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AUDIT_AUDIT_FILES_H_
