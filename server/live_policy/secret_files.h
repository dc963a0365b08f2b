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

// Opens the secrets of a directory: one in each file, which is named as the
// secret. Nobody reads them here: the server is not to know them. Files whose
// names can't be a secret's are left out. An empty `directory`: there are none.
// INVALID_ARGUMENT: it isn't there; directory or file belong to somebody else
// than the caller or root, or are open to others; a file is empty or too long.
absl::StatusOr<std::map<std::string, os::Fd>> OpenSecrets(
    const std::string& directory);

// INVALID_ARGUMENT: a profile lists a secret that isn't among these.
absl::Status CheckSecrets(const PolicySet& policy,
                          const std::set<std::string>& names);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_SECRET_FILES_H_
