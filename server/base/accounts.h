#ifndef SANDGLASS_SERVER_BASE_ACCOUNTS_H_
#define SANDGLASS_SERVER_BASE_ACCOUNTS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace sandglass::server {

// The user and group that the daemon switches to once it is set up.
struct Ids {
  uid_t uid;
  gid_t gid;
};

// `user` is an account's name or "uid:gid". Empty means the account
// "sandglass". On a host without that account, it means the number just below
// `uid_base` as uid and gid: this is next to the range that the jails' uids
// come from, and no account may own it either. INVALID_ARGUMENT for an unknown
// account and for root.
absl::StatusOr<Ids> ResolveIds(const std::string& user, uid_t uid_base);

// `group` is a group's name or number; empty means `fallback`.
absl::StatusOr<gid_t> ResolveGroup(const std::string& group, gid_t fallback);

// `user` is an account's name or a number. INVALID_ARGUMENT when it is neither.
absl::StatusOr<uid_t> ResolveUser(const std::string& user);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_ACCOUNTS_H_
