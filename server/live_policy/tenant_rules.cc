#include "server/live_policy/tenant_rules.h"

#include "server/base/errors.h"

namespace sandglass::server {

std::string ProfileFor(const PolicySet& policy, const std::string& tenant,
                       const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const policy::Tenant* file = policy.tenants()->Find(tenant);
  return file == nullptr ? wanted : file->default_profile;
}

absl::Status MayUseProfile(const PolicySet& policy, const std::string& tenant,
                           const std::string& profile) {
  const policy::Tenant* file = policy.tenants()->Find(tenant);
  if (file == nullptr || policy::AllowsProfile(*file, profile)) {
    return absl::OkStatus();
  }
  return ProfileDenied(tenant, profile, file->profiles);
}

}  // namespace sandglass::server
