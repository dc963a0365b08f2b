#ifndef SANDGLASS_SERVER_IDENTITY_LOCAL_ACCOUNTS_H_
#define SANDGLASS_SERVER_IDENTITY_LOCAL_ACCOUNTS_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "server/identity/identity.h"

namespace sandglass::server {

// Which tenant this machine's accounts belong to on the unix socket, and what
// they may do there.
struct LocalAccounts {
  struct Rule {
    std::string account;  // as the configuration has it
    std::string tenant = kLocalTenant;
    std::optional<Scopes> scopes;  // absent: what is usual, of root all
  };
  // A user's rule comes before that of its group, the one that SO_PEERCRED
  // names. Who has neither belongs to the tenant "local".
  std::map<uid_t, Rule> users;
  std::map<gid_t, Rule> groups;
  // Have the scope approve in any case.
  std::set<uid_t> approvers;

  Identity IdentityOf(uid_t uid, gid_t gid) const;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_LOCAL_ACCOUNTS_H_
