#ifndef SANDGLASS_SERVER_LIVE_POLICY_TENANT_RULES_H_
#define SANDGLASS_SERVER_LIVE_POLICY_TENANT_RULES_H_

#include <string>

#include "absl/status/status.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// The profile of a request: that which it names, else its tenant's.
std::string ProfileFor(const PolicySet& policy, const std::string& tenant,
                       const std::string& wanted);

// PERMISSION_DENIED: the tenant's requests may not name the profile.
absl::Status MayUseProfile(const PolicySet& policy, const std::string& tenant,
                           const std::string& profile);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_TENANT_RULES_H_
