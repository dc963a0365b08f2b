#ifndef SANDGLASS_SERVER_BASE_ACCOUNTS_H_
#define SANDGLASS_SERVER_BASE_ACCOUNTS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace sandglass::server {

// Whom the daemon becomes once it is set up.
struct Identity {
  uid_t uid;
  gid_t gid;
};

// `user` is an account's name or "uid:gid". Empty means the account
// "sandglass", or, on a host without one, the number just below `uid_base` as
// uid and gid: next to the range that the jails' uids come from, which no
// account may own either. INVALID_ARGUMENT for an unknown account and for
// root.
absl::StatusOr<Identity> ResolveIdentity(const std::string& user,
                                         uid_t uid_base);

// `group` is a group's name or number; empty means `fallback`.
absl::StatusOr<gid_t> ResolveGroup(const std::string& group, gid_t fallback);

// `user` is an account's name or a number. INVALID_ARGUMENT for neither.
absl::StatusOr<uid_t> ResolveUser(const std::string& user);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_ACCOUNTS_H_
