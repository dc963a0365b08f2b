#include "server/identity/local_accounts.h"

namespace sandglass::server {

Identity LocalAccounts::IdentityOf(uid_t uid, gid_t gid) const {
  Identity identity = LocalIdentity(uid, gid);
  const Rule* rule = nullptr;
  if (const auto user = users.find(uid); user != users.end()) {
    rule = &user->second;
  } else if (const auto group = groups.find(gid); group != groups.end()) {
    rule = &group->second;
  }
  if (rule != nullptr) {
    identity.name = NameOf(rule->tenant, identity.name);
    identity.tenant = rule->tenant;
    identity.scopes = rule->scopes.value_or(identity.scopes);
  }
  if (approvers.contains(uid)) identity.scopes.Add(Scope::kApprove);
  return identity;
}

}  // namespace sandglass::server
