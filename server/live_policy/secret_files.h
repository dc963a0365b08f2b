#ifndef SANDGLASS_SERVER_LIVE_POLICY_SECRET_FILES_H_
#define SANDGLASS_SERVER_LIVE_POLICY_SECRET_FILES_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// Opens the secrets in a directory: each is a file that is named like the
// secret. The files aren't read here, because the server is not supposed to
// know them. Files whose names can't be a secret's are left out. With an empty
// `directory` there are none. INVALID_ARGUMENT: the directory isn't there; the
// directory or a file belongs to somebody other than root and the user of this
// process, or is open to others; a file is empty or too long.
absl::StatusOr<std::map<std::string, os::Fd>> OpenSecrets(
    const std::string& directory);

// INVALID_ARGUMENT: a profile lists a secret whose name isn't in `names`.
absl::Status CheckSecrets(const PolicySet& policy,
                          const std::set<std::string>& names);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_SECRET_FILES_H_
