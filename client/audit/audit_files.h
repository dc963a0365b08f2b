#ifndef SANDGLASS_CLIENT_AUDIT_AUDIT_FILES_H_
#define SANDGLASS_CLIENT_AUDIT_AUDIT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/audit/audit_verify.h"

namespace sandglass::client {

// The files that the user's paths stand for. A directory stands for the files
// of an audit log in it, in the order of their numbers (an empty list if there
// are none). Files keep the order in which they are given, unless all have
// names of that kind. INVALID_ARGUMENT for a directory together with other
// paths; otherwise errors are those of errno.
absl::StatusOr<std::vector<std::string>> AuditFilesOf(
    const std::vector<std::string>& paths);

// Passes the content of files to a verifier, piece by piece. Only regular files
// are allowed; the error names the file.
absl::Status ReadAuditFiles(const std::vector<std::string>& files,
                            policy::AuditVerifier& verifier);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AUDIT_AUDIT_FILES_H_
