#ifndef SANDGLASS_SERVER_DAEMON_POOL_PLAN_H_
#define SANDGLASS_SERVER_DAEMON_POOL_PLAN_H_

#include <vector>

#include "server/daemon/zygote_plan.h"
#include "server/languages/prestart_kinds.h"
#include "server/live_policy/policy_set.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// The jails that are kept ready from the start, under the default profile and
// its limits: those that every language can use, and those of each zygote.
std::vector<JailKey> KeptFromStart(const PolicySet& policy,
                                   const std::vector<PlannedZygote>& zygotes);

// Makes all options of the pool; `options` has those that the operator set.
PoolOptions PlanPool(PoolOptions options, const PolicySet& policy,
                     const std::vector<PlannedZygote>& zygotes,
                     const PrestartKinds& prestart);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_POOL_PLAN_H_
