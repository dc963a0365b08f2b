#include "server/daemon/pool_plan.h"

#include <map>
#include <string>

#include "sandbox/yard/sandbox.h"

namespace sandglass::server {
namespace {

// The memory that an idle jail holds; docs/performance.md has the figures.
constexpr uint64_t kEmptyJailBytes = uint64_t{1} << 20;

}  // namespace

std::vector<JailKey> KeptFromStart(const PolicySet& policy,
                                   const std::vector<PlannedZygote>& zygotes) {
  const policy::SharedProfile profile = policy.FindProfile("");
  std::vector<JailKey> keys = {
      {sandbox::kExecKind, profile->run_template(), profile->limits}};
  for (const PlannedZygote& zygote : zygotes) {
    if (!zygote.always) continue;
    keys.push_back(
        {zygote.options.kind, profile->run_template(), profile->limits});
  }
  return keys;
}

PoolOptions PlanPool(PoolOptions options, const PolicySet& policy,
                     const std::vector<PlannedZygote>& zygotes,
                     const PrestartKinds& prestart) {
  options.kinds = prestart.Options();
  options.kinds[sandbox::kExecKind] = {.idle_bytes = kEmptyJailBytes};
  for (const PlannedZygote& zygote : zygotes) {
    options.kinds[zygote.options.kind] = {.idle_bytes = zygote.idle_bytes};
  }
  options.always = KeptFromStart(policy, zygotes);
  options.once_used = prestart.OnceUsed();
  return options;
}

}  // namespace sandglass::server
