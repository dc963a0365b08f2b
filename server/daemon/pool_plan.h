#ifndef SANDGLASS_SERVER_DAEMON_POOL_PLAN_H_
#define SANDGLASS_SERVER_DAEMON_POOL_PLAN_H_

#include <functional>
#include <vector>

#include "server/daemon/zygote_plan.h"
#include "server/languages/prestart_kinds.h"
#include "server/live_policy/policy_set.h"
#include "server/pool/pool_targets.h"

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

#endif  // SANDGLASS_SERVER_DAEMON_POOL_PLAN_H_
