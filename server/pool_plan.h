#ifndef SANDGLASS_SERVER_POOL_PLAN_H_
#define SANDGLASS_SERVER_POOL_PLAN_H_

#include <functional>
#include <vector>

#include "server/policy_set.h"
#include "server/pool_targets.h"
#include "server/prestart_kinds.h"
#include "server/zygotes.h"

namespace sandglass::server {

// What is kept ready from the start under the default profile and its limits:
// what every language can use, and each zygote's.
std::vector<JailKey> KeptFromStart(const PolicySet& policy,
                                   const std::vector<PlannedZygote>& zygotes);

// All options of the pool; `options` has the operator's. `prestart` outlives
// the pool.
PoolOptions PlanPool(PoolOptions options, const PolicySet& policy,
                     const std::vector<PlannedZygote>& zygotes,
                     const PrestartKinds& prestart);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_PLAN_H_
