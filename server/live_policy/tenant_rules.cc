#include "server/live_policy/tenant_rules.h"

#include <algorithm>

#include "server/base/errors.h"

namespace sandglass::server {
namespace {

constexpr char kUsualProfile[] = "default";

bool MayItself(const Identity& caller, const std::string& profile) {
  return caller.profiles.empty() ||
         std::ranges::find(caller.profiles, profile) != caller.profiles.end();
}

}  // namespace

std::string ProfileFor(const PolicySet& policy, const Identity& caller,
                       const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const policy::Tenant* file = policy.tenants()->Find(caller.tenant);
  const std::string usual = file == nullptr ? "" : file->default_profile;
  return MayItself(caller, usual.empty() ? kUsualProfile : usual)
             ? usual
             : caller.profiles.front();
}

absl::Status MayUseProfile(const PolicySet& policy, const Identity& caller,
                           const std::string& profile) {
  const policy::Tenant* file = policy.tenants()->Find(caller.tenant);
  if (file != nullptr && !policy::AllowsProfile(*file, profile)) {
    return ProfileDenied("tenant " + caller.tenant, profile, file->profiles);
  }
  return MayUseProfileItself(caller, profile);
}

absl::Status MayUseProfileItself(const Identity& caller,
                                 const std::string& profile) {
  return MayItself(caller, profile)
             ? absl::OkStatus()
             : ProfileDenied(caller.name, profile, caller.profiles);
}

}  // namespace sandglass::server
