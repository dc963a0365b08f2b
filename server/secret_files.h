#ifndef SANDGLASS_SERVER_SECRET_FILES_H_
#define SANDGLASS_SERVER_SECRET_FILES_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/policy_set.h"

namespace sandglass::server {

// Reads the secrets of a directory: one in each file, which is named as the
// secret; a line end at its end isn't part of it. Files whose names can't be a
// secret's are left out. An empty `directory`: there are none.
// INVALID_ARGUMENT: it isn't there; directory or file belong to somebody else
// than the caller or root, or others may read them; a secret is too long. No
// message has a value.
absl::StatusOr<std::map<std::string, std::string>> ReadSecrets(
    const std::string& directory);

// INVALID_ARGUMENT: a profile lists a secret that isn't among these.
absl::Status CheckSecrets(const PolicySet& policy,
                          const std::set<std::string>& names);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SECRET_FILES_H_
