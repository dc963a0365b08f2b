#ifndef SANDGLASS_SERVER_LIVE_POLICY_TENANT_RULES_H_
#define SANDGLASS_SERVER_LIVE_POLICY_TENANT_RULES_H_

#include <string>

#include "absl/status/status.h"
#include "server/identity/identity.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// The profile of a request: that which it names, else its tenant's, else, where
// the caller may not use that one, the first that it may. Empty: the usual one.
std::string ProfileFor(const PolicySet& policy, const Identity& caller,
                       const std::string& wanted);

// PERMISSION_DENIED: the tenant's requests, or the caller's own, may not name
// the profile.
absl::Status MayUseProfile(const PolicySet& policy, const Identity& caller,
                           const std::string& profile);

// The same of the caller alone: sessions go on with what their tenant's file
// said when they were made.
absl::Status MayUseProfileItself(const Identity& caller,
                                 const std::string& profile);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_TENANT_RULES_H_
