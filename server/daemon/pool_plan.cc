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
  std::map<std::string, uint64_t> idle_bytes = {
      {sandbox::kExecKind, kEmptyJailBytes}};
  for (const PlannedZygote& zygote : zygotes) {
    idle_bytes[zygote.options.kind] = zygote.idle_bytes;
  }
  options.kinds = [&prestart, idle_bytes](const std::string& kind) {
    if (const auto known = idle_bytes.find(kind); known != idle_bytes.end()) {
      return KindOptions{.idle_bytes = known->second};
    }
    return prestart.OptionsOf(kind).value();
  };
  options.always = KeptFromStart(policy, zygotes);
  options.once_used = prestart.OnceUsed();
  return options;
}

}  // namespace sandglass::server
